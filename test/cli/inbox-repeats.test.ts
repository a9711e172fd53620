import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import type { Arrival } from '../../src/inbox/engine.js'
import { arrival } from '../support/arrivals.js'
import { countersign, jsonLines, Sandbox } from './program.js'
import { settle } from '../support/settle.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const STALE = 'ERR_TIMESTAMP_OUT_OF_TOLERANCE'
const replayed = ({ signature }: Arrival) => arrival({ signature })
const late = ({ callback, key, bodyHash }: Arrival): Arrival => ({
  ...arrival({ suspicion: STALE }),
  callback,
  key,
  bodyHash,
})

/**
 * Entry 1 was handled, 3 is a replay of it; 4 and 5 are late repeats of one callback; 6 is late, and like no other. There
 * is no entry 2, as a refused insert uses up a number.
 */
async function directory(): Promise<string> {
  const cwd = await sandbox.directory({})
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  const handled = arrival()
  await inbox.add(handled)
  const {
    entries: [claim],
  } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
  await settle(inbox, claim!, { move: 'complete' })
  await inbox.add(replayed(handled))
  const first = arrival({ suspicion: STALE })
  await inbox.add(first)
  await inbox.add(late(first))
  await inbox.add(arrival({ suspicion: STALE }))
  await inbox.close()
  return cwd
}

async function run(cwd: string, ...args: string[]) {
  return countersign(['inbox', ...args, '--by', 'ann'], { cwd })
}

async function statesIn(cwd: string): Promise<string[]> {
  const { stdout } = await countersign(['inbox', 'list', '--json'], { cwd })
  return (jsonLines(stdout) as { state: string }[]).map(({ state }) => state)
}

describe('a bulk release', () => {
  it('releases each callback once, and nothing that was handled', async () => {
    const cwd = await directory()
    const { code, stdout, stderr } = await run(cwd, 'release', '--state', 'quarantined', '--yes')
    expect(code).toBe(3)
    expect(stdout).toBe('entry 4: release\nentry 6: release\n')
    expect(stderr).toMatch(
      /^its signature is that of entry 1, handled\nthe same callback is entry 4, stored\n.*--handle-again\n$/,
    )
    expect(await statesIn(cwd)).toEqual(['handled', 'quarantined', 'stored', 'quarantined', 'stored'])
  })

  it('says with --dry-run what it would do, what it would refuse, and why each is in quarantine', async () => {
    const cwd = await directory()
    const { code, stdout, stderr } = await run(cwd, 'release', '--state', 'quarantined', '--dry-run')
    expect(code).toBe(3)
    expect(stdout).toBe(`entry 4: would release (${STALE})\nentry 6: would release (${STALE})\n`)
    expect(stderr).toMatch(
      /^entry 3: would be refused \(ERR_SIGNATURE_REPLAYED: .*\): its signature is that of entry 1, handled$/m,
    )
    expect(stderr).toContain(`entry 5: would be refused (${STALE}): the same callback is entry 4, stored\n`)
    expect(new Set((await statesIn(cwd)).slice(1))).toEqual(new Set(['quarantined']))
    const json = await run(cwd, 'release', '--state', 'quarantined', '--dry-run', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      dryRun: true,
      results: [
        { id: '3', done: false, why: expect.anything() },
        { id: '4', done: false, reason: STALE },
        { id: '5', done: false, why: expect.anything() },
        { id: '6', done: false, reason: STALE },
      ],
    })
  })

  it('takes a part of the reason to select by', async () => {
    const cwd = await directory()
    const { code, stdout } = await run(cwd, 'discard', '--reason', 'replay', '--yes')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'entry 3: discard\n' })
    const listed = await countersign(['inbox', 'list', '--reason', STALE, '--json'], { cwd })
    expect(jsonLines(listed.stdout)).toMatchObject([{ id: '4' }, { id: '5' }, { id: '6' }])
    expect((await run(cwd, 'release', '--reason', ' ', '--yes')).code).toBe(2)
  })

  it.each([
    [['release', '--state', 'quarantined', '--handle-again', '--yes'], /named by their ids/],
    [['retry', '--state', 'handled', '--yes'], /a second time: name the entries by their ids/],
    [['retry', '--state', 'dead,handled', '--dry-run'], /a second time: name the entries by their ids/],
  ])('is refused where it would handle callbacks a second time: %j', async (args, message) => {
    const cwd = await directory()
    const { code, stderr } = await run(cwd, ...args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
    expect(new Set(await statesIn(cwd))).toEqual(new Set(['handled', 'quarantined']))
  })
})

describe('an entry that is named by its id', () => {
  it.each([
    ['release', '3', 'its signature is that of entry 1, handled\n'],
    ['retry', '1', 'entry 1 was handled; retry would handle it a second time\n'],
  ])(
    'is refused %s %s, which would handle it a second time, without --handle-again',
    async (action, id, why) => {
      const cwd = await directory()
      const refused = await run(cwd, action, id)
      expect(refused).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining(why) })
      expect(refused.stderr).toContain('add --handle-again')
      const done = await run(cwd, action, id, '--handle-again')
      expect(done).toMatchObject({ code: 0, stdout: `entry ${id}: ${action}\n`, stderr: '' })
      expect((await statesIn(cwd))[id === '1' ? 0 : 1]).toBe('stored')
    },
  )

  it('is told how an unhandled one gets handled, which stays unhandled', async () => {
    const cwd = await sandbox.directory({})
    const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
    await inbox.add(arrival())
    await inbox.claim({ eventTypes: ['other'], limit: 1, leaseMs: 1 })
    await inbox.close()
    const { code, stderr } = await run(cwd, 'retry', '1')
    expect(code).toBe(3)
    expect(stderr).toMatch(/^entry 1 is unhandled; .*: register one, or discard the entry\n$/)
    expect(await statesIn(cwd)).toEqual(['unhandled'])
  })
})
