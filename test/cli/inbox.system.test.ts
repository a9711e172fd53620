import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Handler } from '../../src/index.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { ago } from '../http/answers.js'
import { runInboxReceiver, type RunningInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine } from '../support/running-receiver.js'
import { deliver, SUBSCRIPTION } from './configured.js'
import { countersign, jsonLines, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const KEY = '0b5bcbd6-4a39-4bd7-8b5a-1d4a4a3f3b10'

/** A receiver of this process that goes on running beside the commands, which are another process. */
async function receiving(handler: Handler): Promise<RunningInboxReceiver & { cwd: string }> {
  const cwd = await sandbox.directory({})
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  const subscriptions = [SUBSCRIPTION]
  return { ...(await runInboxReceiver({ inbox, handler, maxAttempts: 1, subscriptions })), cwd }
}

const failing = () => {
  throw new Error('not today')
}

/** Callbacks that nobody could handle. */
async function withDeadLetters(count: number) {
  const running = await receiving(failing)
  for (let id = 1; id <= count; id++) {
    await running.send(genuine({ subscription: SUBSCRIPTION, ...(id === 1 && { idempotencyKey: KEY }) }))
    await running.becomes(`${id}`, 'dead')
  }
  return running
}

async function json<Printed = never>(cwd: string, ...args: string[]): Promise<Printed> {
  const { stdout } = await countersign(['inbox', ...args, '--json'], { cwd })
  return (args[0] === 'list' ? jsonLines(stdout) : JSON.parse(stdout)) as Printed
}

describe('countersign inbox', () => {
  it('counts the entries by state, while a receiver of the same configuration runs', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': `export default {
        subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
        maxAttempts: 1,
        handlers: { 'transfers.book-completed': () => { throw new Error('not today') } },
      }`,
    })
    const serve = sandbox.serve([], { cwd })
    await deliver(await serve.port())
    await serve.line(({ msg }) => msg === 'entry is a dead letter')
    expect(await json(cwd, 'stats')).toMatchObject({ counts: { dead: 1, handled: 0, quarantined: 0 } })
  })

  it('lists what fits the filters', async () => {
    const { cwd } = await withDeadLetters(1)
    const dead = await json(cwd, 'list', '--state', 'dead', '--key', KEY.toUpperCase(), '--newer-than', '1h')
    expect(dead).toMatchObject([{ id: '1', state: 'dead', idempotencyKey: KEY, reason: 'Error: not today' }])
    expect(await json(cwd, 'list', '--older-than', '1h')).toEqual([])
    expect(await json(cwd, 'list', '--event-type', 'other')).toEqual([])
  })

  it('shows one entry, its body only when asked, and never a secret or a signature', async () => {
    const { cwd } = await withDeadLetters(1)
    const quiet = await countersign(['inbox', 'show', '1'], { cwd })
    expect(quiet.stdout).toMatch(/state +dead/)
    expect(quiet.stdout).not.toMatch(/"Id"|Signature=|query-token/)
    expect(quiet.stdout).not.toContain(SUBSCRIPTION.secret)
    const whole = await countersign(['inbox', 'show', '1', '--body'], { cwd })
    expect(whole.stdout).toContain('"Id"')
  })

  it('retries a dead letter, which the running receiver handles as a replay, and records who did', async () => {
    const { send, handled, becomes, cwd } = await receiving(({ byOperator }) => {
      if (!byOperator) throw new Error('not today')
    })
    await send(genuine({ subscription: SUBSCRIPTION }))
    await becomes('1', 'dead')
    expect(await countersign(['inbox', 'retry', '1', '--by', 'ann'], { cwd })).toMatchObject({ code: 0 })
    await becomes('1', 'handled')
    expect(handled.map(({ byOperator }) => byOperator)).toEqual([false, true])
    expect(await json(cwd, 'show', '1')).toMatchObject({
      state: 'handled',
      history: [{ action: 'retry', by: 'ann' }],
    })
  })

  it('shows the attempts, the headers and the reasons of decisions, of which the latest is taken back', async () => {
    const { cwd } = await withDeadLetters(1)
    const because = ['--because', 'the account is closed']
    expect((await countersign(['inbox', 'discard', '1', '--by', 'ann', ...because], { cwd })).code).toBe(0)
    const undone = await countersign(['inbox', 'undo', '1', '--by', 'bob'], { cwd })
    expect(undone).toMatchObject({ code: 0, stdout: 'entry 1: undo\n' })
    const { stdout } = await countersign(['inbox', 'show', '1'], { cwd })
    expect(stdout).toMatch(/state +dead/)
    expect(stdout).toMatch(/bodyId +[0-9a-f-]{36}/)
    expect(stdout).toMatch(/header +X-Event-Type: transfers\.book-completed/i)
    expect(stdout).toMatch(/attempt +1, 2.+Z to 2.+Z: dead \(ERR_HANDLER_FAILED,\s+Error: not today\)/)
    expect(stdout).toMatch(/history +2.+Z discard by ann: the account is closed/)
    expect(stdout).toMatch(/history +2.+Z undo by bob/)
    expect(await countersign(['inbox', 'undo', '1'], { cwd })).toMatchObject({
      code: 3,
      stderr: 'entry 1 has no decision that could be taken back\n',
    })
  })

  it('lists by the Id of the body and by the subscription', async () => {
    const { cwd } = await withDeadLetters(1)
    const [{ bodyId, subscription }] = await json<[{ bodyId: string; subscription: { id: string } }]>(
      cwd,
      'list',
    )
    expect(await json(cwd, 'list', '--body-id', bodyId)).toMatchObject([{ id: '1' }])
    expect(await json(cwd, 'list', '--body-id', 'other')).toEqual([])
    expect(await json(cwd, 'list', '--subscription', subscription.id)).toMatchObject([{ id: '1' }])
    expect(await json(cwd, 'list', '--subscription', 'other')).toEqual([])
  })

  it('releases what is in quarantine', async () => {
    const { send, handled, becomes, cwd } = await receiving(() => {})
    await send(genuine({ subscription: SUBSCRIPTION, timestamp: ago(48 * 3_600_000) }))
    await becomes('1', 'quarantined')
    expect(await countersign(['inbox', 'release', '1'], { cwd })).toMatchObject({ code: 0 })
    await becomes('1', 'handled')
    expect(handled).toHaveLength(1)
  })

  it('says why an entry is not in a state for it, and ends with 3', async () => {
    const { cwd } = await withDeadLetters(1)
    const { code, stderr } = await countersign(['inbox', 'release', '1', '7'], { cwd })
    expect(code).toBe(3)
    expect(stderr).toBe('entry 1 is dead; release is for entries that are quarantined\nthere is no entry 7\n')
  })

  it('does nothing to several entries that were not named, before it is told --yes', async () => {
    const { cwd } = await withDeadLetters(2)
    expect(await countersign(['inbox', 'discard', '--state', 'dead'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('discard would change 2 entries'),
    })
    const dry = await countersign(['inbox', 'discard', '--state', 'dead', '--dry-run'], { cwd })
    expect(dry.stdout).toBe('entry 1: would discard\nentry 2: would discard\n')
    expect(await json(cwd, 'stats')).toMatchObject({ counts: { dead: 2 } })
    await countersign(['inbox', 'discard', '--state', 'dead', '--yes'], { cwd })
    expect(await json(cwd, 'stats')).toMatchObject({ counts: { dead: 0, discarded: 2 } })
  })

  it('does not act on everything when no entry is named', async () => {
    const { cwd } = await withDeadLetters(1)
    expect(await countersign(['inbox', 'retry', '--yes'], { cwd })).toMatchObject({ code: 2 })
  })

  it('does not act on an entry that is named beside a filter, which it may not fit', async () => {
    const { cwd } = await withDeadLetters(1)
    const args = ['inbox', 'discard', '1', '--state', 'quarantined']
    expect(await countersign(args, { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('by their ids, or select them by a filter such as --state, not both'),
    })
    expect(await json(cwd, 'stats')).toMatchObject({ counts: { dead: 1, discarded: 0 } })
  })

  it('prunes only what was handled or discarded, and keeps what repeats must still be known by', async () => {
    const { cwd } = await withDeadLetters(1)
    expect(await json(cwd, 'prune', '--older-than', '0s')).toEqual({ pruned: 0, dryRun: false })
    await countersign(['inbox', 'discard', '1'], { cwd })
    expect(await json(cwd, 'prune', '--older-than', '0s')).toEqual({ pruned: 0, dryRun: false })
    expect(await json(cwd, 'stats')).toMatchObject({ counts: { discarded: 1 } })
  })

  it('exports lines of JSON, into a file that nobody else may read and that was not there', async () => {
    const { cwd } = await withDeadLetters(1)
    const args = ['inbox', 'list', '--json', '--body', '--output', 'out.jsonl']
    expect(await countersign(args, { cwd })).toMatchObject({ code: 0 })
    const [line] = (await readFile(join(cwd, 'out.jsonl'), 'utf8')).trim().split('\n')
    const { bodyBase64, ...entry } = JSON.parse(line!) as { bodyBase64: string }
    expect(entry).toMatchObject({ id: '1', state: 'dead', history: [] })
    expect(JSON.parse(Buffer.from(bodyBase64, 'base64').toString())).toHaveProperty('Id')
    expect((await stat(join(cwd, 'out.jsonl'))).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['callbacks.db', 'callbacks.db exists and is not overwritten: name a new file'],
    [
      'nowhere/out.jsonl',
      'cannot create nowhere/out.jsonl (ENOENT): name a new file in a folder that you can write',
    ],
  ])('does not export into %s, and says what to name', async (output, message) => {
    const { cwd } = await withDeadLetters(1)
    const { code, stderr } = await countersign(['inbox', 'list', '--json', '--body', '--output', output], {
      cwd,
    })
    expect({ code, stderr }).toEqual({ code: 2, stderr: `countersign: --output: ${message}\n` })
  })

  it('does not make a file that is not there', async () => {
    const cwd = await sandbox.directory({})
    const { code, stderr } = await countersign(['inbox', 'stats'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toMatch(/there is no inbox callbacks\.db/)
  })

  it.each([
    [['list', '--state', 'lost'], 'Use states separated by commas'],
    [['list', '--older-than', '5'], 'Use a number and a unit'],
    [['list', '--older-than', '1000000d'], 'The number has at most six digits.'],
    [['discard', '--event-type', ''], 'It must not be empty.'],
    [['list', '--key', ''], 'It must not be empty.'],
    [['prune', '--older-than', '1d', '--state', 'dead'], 'Use handled or discarded'],
    [['show', 'no id'], 'Use the id of an entry'],
    [['discard', '1', '--because', 'a\nb'], 'without line feeds'],
    [['undo'], 'missing required argument'],
  ])('refuses %j', async (args, message) => {
    const { cwd } = await withDeadLetters(1)
    const { code, stderr } = await countersign(['inbox', ...args], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})
