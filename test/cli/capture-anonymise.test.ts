import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { rewritten } from '../../src/cli/commands/capture/rewrite.js'
import { scrambledJson, scramblerOf } from '../../src/cli/commands/capture/scramble.js'
import {
  loadRecordedRequests,
  parseRecordedRequest,
  recordedSubscriptions,
  replayRecordedRequest,
} from '../../src/testing/recorded-requests.js'
import { FORGED, genuine, runReceiver, SECRET } from '../support/running-receiver.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

// So long that no other value has the same letters or digits by chance.
const PAYLOAD = {
  Id: '64b87e81-f9c7-4125-8565-b199c6e65b4f',
  Name: 'Margarethe Öbergsson',
  Amount: 123_456_789.25,
  Booked: '2026-11-03T09:14:27.123Z',
  Final: true,
}

/** A folder that a real receiver has captured into. */
async function captured(): Promise<string> {
  const cwd = await sandbox.directory({})
  const folder = join(cwd, 'captured')
  const { send, receiver } = await runReceiver({ capture: { folder, what: 'all' } })
  const repeated = genuine({ payload: PAYLOAD, headers: { 'X-Forwarded-For': '203.0.113.77' } })
  await send(repeated)
  await send(repeated)
  // After the new signature it has that of the others, under another key.
  const { 'Authorization-Timestamp': timestamp } = repeated.headers
  await send(genuine({ payload: PAYLOAD, timestamp: timestamp!, headers: { Authorization: FORGED } }))
  await send(genuine({ body: 'Margarethe' }))
  await send(genuine({ headers: { Authorization: null } }))
  await receiver.stop()
  return cwd
}

const anonymise = (cwd: string, ...more: string[]) =>
  countersign(['capture', 'anonymise', 'captured', '--out', 'fixtures', ...more], { cwd })

describe('countersign capture anonymise', () => {
  it('makes fixtures that a receiver accepts, without anything of the originals', async () => {
    const cwd = await captured()
    const { code, stdout, stderr } = await anonymise(cwd)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('3 fixtures in fixtures')
    expect(stdout.match(/skipped/g)).toHaveLength(2)

    const fixtures = await loadRecordedRequests(join(cwd, 'fixtures'))
    const subscriptions = recordedSubscriptions(fixtures)
    const { port } = await runReceiver({
      subscriptions,
      clock: () => fixtures[0]!.signedAt!.getTime(),
    })
    for (const fixture of fixtures) {
      const { status } = await replayRecordedRequest(fixture, { port })
      expect([fixture.name, status]).toEqual([fixture.name, fixture.expect.status])
    }
    expect(fixtures.map(({ expect }) => expect.outcome)).toEqual(['handled', 'duplicate', 'refused'])

    const files = readdirSync(join(cwd, 'fixtures')).map((name) =>
      readFileSync(join(cwd, 'fixtures', name), 'utf8'),
    )
    const everything = files.join() + stdout
    const { Id, Amount, Booked } = PAYLOAD
    for (const hidden of [SECRET, Id, 'Margarethe', 'bergsson', String(Amount), Booked, '203.0.113.77'])
      expect(everything).not.toContain(hidden)
    const body = JSON.parse(parseRecordedRequest(fixtures[0]!.bytes).body.toString())
    expect(body).toEqual({
      Id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/),
      Name: expect.stringMatching(/^[A-Z][a-z]{9} [A-Z][a-z]{8}$/),
      Amount: expect.any(Number),
      Booked: expect.stringMatching(/^2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      Final: true,
    })
    expect((await countersign(['verify', 'fixtures/callback-0001.http'], { cwd })).code).toBe(0)
  })

  it('skips bodies that a receiver refuses although they are JSON', async () => {
    const cwd = await sandbox.directory({})
    const folder = join(cwd, 'captured')
    const { send, receiver } = await runReceiver({ capture: { folder, what: 'all' } })
    for (const body of ['[{"Id":"a"}]', 'null', '"text"', '\ufeff{"Id":"a"}']) await send(genuine({ body }))
    await receiver.stop()
    const { code, stdout } = await anonymise(cwd)
    expect({ code, skipped: stdout.match(/skipped, its body is not a JSON object/g) }).toMatchObject({
      code: 0,
      skipped: { length: 3 },
    })
    const fixtures = await loadRecordedRequests(join(cwd, 'fixtures'))
    const { port } = await runReceiver({ subscriptions: recordedSubscriptions(fixtures) })
    expect(fixtures.map(({ expect }) => expect.status)).toEqual([200])
    expect((await replayRecordedRequest(fixtures[0]!, { port })).status).toBe(200)
  })

  it('expects of a key that arrived with another event type what a receiver answers', async () => {
    const cwd = await sandbox.directory({})
    const folder = join(cwd, 'captured')
    const { send, receiver } = await runReceiver({ capture: { folder, what: 'all' } })
    const [idempotencyKey, timestamp] = [PAYLOAD.Id, new Date()]
    const same = { idempotencyKey, timestamp }
    const other = { ...same, headers: { 'X-Event-Type': 'other.type' } }
    await send(genuine({ ...same, payload: { Id: 'first body' } }))
    await send(genuine({ ...other, payload: { Id: 'first body' } }))
    await send(genuine({ ...other, payload: { Id: 'another body' } }))
    await receiver.stop()
    await anonymise(cwd)
    const fixtures = await loadRecordedRequests(join(cwd, 'fixtures'))
    const { port, receiver: second } = await runReceiver({ subscriptions: recordedSubscriptions(fixtures) })
    second.onAny(() => {})
    const answers: number[] = []
    for (const fixture of fixtures) answers.push((await replayRecordedRequest(fixture, { port })).status)
    expect(fixtures.map(({ expect }) => expect.status)).toEqual(answers)
    expect(answers).toEqual([200, 409, 200])
  })

  it('has bodies rewritten by a function of the user', async () => {
    const cwd = await captured()
    writeFileSync(
      join(cwd, 'rewrite.mjs'),
      `export default ({ Id }, { eventType }) => ({ Id: 'x', eventType })`,
    )
    expect((await anonymise(cwd, '--rewrite', './rewrite.mjs')).code).toBe(0)
    const [fixture] = await loadRecordedRequests(join(cwd, 'fixtures'))
    expect(parseRecordedRequest(fixture!.bytes).body.toString()).toBe(
      '{"Id":"x","eventType":"transfers.book-completed"}',
    )
  })

  it.each([
    [
      'throw new Error(`no\\x1b[31m name\\nof it`)',
      /the function failed for \S+\.http: no\\u\{1b\}\[31m name$/m,
    ],
    ['throw null', /the function failed for \S+\.http: null$/m],
    ['return 1n', /what the function returned for \S+\.http is not JSON: /],
    ['return [1]', /what the function returned for \S+\.http is not a JSON object: return one, or undefined/],
    ['const own = {}; own.own = own; return own', /what the function returned for \S+\.http is not JSON: /],
  ])('writes nothing if the function fails, and names the request: %s', async (body, message) => {
    const cwd = await captured()
    const count = `let calls = 0; export default () => { if (calls++ === 0) return {}; ${body} }`
    writeFileSync(join(cwd, 'rewrite.mjs'), count)
    const { code, stderr } = await anonymise(cwd, '--rewrite', './rewrite.mjs')
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
    expect(stderr.trim()).not.toContain('\n')
    expect(readdirSync(join(cwd, 'fixtures'))).toEqual([])
  })

  it('says which folder it cannot create, and which file it cannot read', async () => {
    const cwd = await captured()
    writeFileSync(join(cwd, 'file'), '')
    const into = ['capture', 'anonymise', 'captured', '--out', 'file/fixtures']
    expect(await countersign(into, { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /--out: cannot create .*fixtures \(ENOTDIR\): name a folder that you can write/,
      ),
    })
    mkdirSync(join(cwd, 'captured', 'folder.http'))
    expect(await anonymise(cwd)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/cannot read .*folder\.http \(EISDIR\)/),
    })
  })

  it('skips a request that the receiver removes meanwhile, and the half of one', async () => {
    const cwd = await captured()
    const name = '29990101T000000000Z-000001-0123abcd-handled'
    // Listed, but not there.
    symlinkSync(join(cwd, 'nothing'), join(cwd, 'captured', `${name}.http`))
    writeFileSync(join(cwd, 'captured', `${name.replace('000001', '000002')}.json`), '{}')
    const { code, stdout } = await anonymise(cwd)
    expect(code).toBe(0)
    expect(stdout).toContain(`${name}.http: skipped, it was removed meanwhile\n`)
    expect(stdout).toContain('3 fixtures in fixtures')
  })

  it('writes into an empty folder only', async () => {
    const cwd = await captured()
    mkdirSync(join(cwd, 'fixtures'))
    writeFileSync(join(cwd, 'fixtures', 'mine'), '')
    const { code, stderr } = await anonymise(cwd)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('is not empty') })
  })
})

test('a function that never returns is named, and does not end the program without a word', async () => {
  const never = () => new Promise(() => {})
  await expect(rewritten(never, 'a.http', [{}, { eventType: 'a.b' }], 10)).rejects.toThrow(
    '--rewrite: the function failed for a.http: the function took longer than 10 ms',
  )
})

test.each([
  '2026-11-03T09:14:27 Margarethe',
  '2026-11-03 09:14, account 1234567890',
  '2026-11-03T09:14:27.123Z Margarethe',
  '2026-11-03T09:14:27Margarethe',
])('of a text that begins with a date, the rest is scrambled as well: %s', (text) => {
  expect(scramblerOf('seed')(text)).not.toMatch(/Margarethe|1234567890/)
})

test.each([
  ['2026-11-03', /^2026-\d\d-\d\d$/],
  ['2026-11-03 09:14', /^2026-\d\d-\d\d \d\d:\d\d$/],
  ['2026-11-03T09:14:27+01:00', /^2026-\d\d-\d\dT\d\d:\d\d:\d\d\+01:00$/],
  ['2026-11-03T09:14:27.123456-0500', /^2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}-0500$/],
])('%s stays a date', (text, form) => {
  expect(scramblerOf('seed')(text)).toMatch(form)
})

test('a scrambled JSON text is JSON with the same keys, lengths and types', () => {
  const scramble = scramblerOf('seed')
  const shape = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shape)
    if (typeof value === 'object' && value !== null)
      return Object.entries(value).map(([key, each]) => [key, shape(each)])
    return value === null || typeof value === 'boolean' ? value : typeof value
  }
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(shape(JSON.parse(scrambledJson(json, scramble)))).toEqual(shape(JSON.parse(json)))
    }),
  )
})

test('the time grows with the length of a text, and not with its square', () => {
  const started = process.cpuUsage()
  expect(scramblerOf('seed')('a'.repeat(400_000))).toMatch(/^[a-z]{400000}$/)
  // If each block of 16 letters hashed the whole text, it would be more than half a minute.
  expect(process.cpuUsage(started).user).toBeLessThan(10_000_000)
})
