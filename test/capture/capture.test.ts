import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CaptureOptions } from '../../src/capture/capture-options.js'
import { explainCallback } from '../../src/diagnosis/index.js'
import {
  loadRecordedRequests,
  parseRecordedRequest,
  replayRecordedRequest,
} from '../../src/testing/recorded-requests.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { openFiles } from '../support/open-files.js'
import { FORGED, genuine, runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

let parent: string
let folder: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'capture-'))
  folder = join(parent, 'captured')
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

const run = (capture: Partial<CaptureOptions> = {}, options: object = {}) =>
  runReceiver({ capture: { folder, ...capture }, ...options })

const written = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [])

test('a refused request is a pair of files that only the user can read', async () => {
  const { send, receiver } = await run()
  await send(genuine({ headers: { Authorization: FORGED } }))
  await send(genuine())
  await receiver.stop()
  const [recorded, ...others] = await loadRecordedRequests(folder)
  expect(others).toEqual([])
  expect(recorded).toMatchObject({ expect: { status: 401, outcome: 'refused' } })
  expect(recorded!.name).toMatch(/^\d{8}T\d{9}Z-\d{6}-[\da-f]{8}-err-signature-mismatch$/)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
})

test.each([
  ['with a Content-Length', false],
  ['chunked', true],
])('a request %s is captured as it arrived, except for the signature', async (_, chunked) => {
  const { send, receiver } = await run({ what: 'all' })
  const callback = genuine()
  const bytes = callback.toHttp({ chunked })
  await send(bytes)
  await receiver.stop()
  const [recorded] = await loadRecordedRequests(folder)
  const asSent = parseRecordedRequest(bytes)
  const asCaptured = parseRecordedRequest(recorded!.bytes)
  const signature = callback.headers['Authorization']!.split('Signature=')[1]!
  expect(asCaptured.target).toBe(asSent.target)
  expect(asCaptured.body).toEqual(asSent.body)
  expect(asCaptured.rawHeaders.filter((text) => !text.includes('salted-sha256'))).toEqual(
    asSent.rawHeaders.filter((text) => !text.includes(signature)),
  )
  const everything = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'latin1'))
    .join()
  for (const hidden of [signature, SECRET, Buffer.from(SECRET).toString('base64')])
    expect(everything).not.toContain(hidden)
})

test('with keepSignatures, the file has the bytes that arrived and can be replayed', async () => {
  const { send, receiver } = await run({ what: 'all', keepSignatures: true })
  const callback = genuine()
  await send(callback)
  await receiver.stop()
  const [recorded] = await loadRecordedRequests(folder)
  expect(recorded!.bytes.toString('latin1')).toBe(callback.toHttp().toString('latin1'))
  const other = await runReceiver({ clock: () => recorded!.signedAt!.getTime() })
  expect((await replayRecordedRequest(recorded!, { port: other.port })).status).toBe(200)
})

test('a captured request can be explained where the secret is', async () => {
  const secret = Buffer.from(SECRET).toString('base64')
  const { send, receiver } = await run({}, { subscriptions: [{ ...subscription, secret }] })
  await send(genuine())
  await receiver.stop()
  const [recorded] = await loadRecordedRequests(folder)
  const { target, rawHeaders, body } = parseRecordedRequest(recorded!.bytes)
  const explain = (configured: string) =>
    explainCallback(
      { path: target, rawHeaders, body },
      { subscriptions: [{ ...subscription, secret: configured }] },
    )
  expect(explain(secret).findings[0]).toMatchObject({ cause: 'secret-is-base64', certainty: 'proven' })
  expect(explain(SECRET).verified).toBe(true)
})

test('a request that is refused for its headers is captured without a body, and gets the same answer again', async () => {
  const { send, receiver } = await run()
  const answer = await send(genuine({ headers: { Authorization: null } }))
  await receiver.stop()
  const [recorded] = await loadRecordedRequests(folder)
  expect(recorded!.expect.status).toBe(answer.status)
  const other = await runReceiver()
  expect((await replayRecordedRequest(recorded!, { port: other.port })).status).toBe(answer.status)
})

test('the oldest requests are removed, and other files in the folder are not', async () => {
  mkdirSync(folder, { mode: 0o700 })
  writeFileSync(join(folder, 'a-note.json'), '{}')
  const { send, receiver } = await run({ keep: 3 })
  for (let sent = 0; sent < 6; sent++) {
    await send(genuine({ payload: { Id: String(sent) }, headers: { Authorization: FORGED } }))
    await until(() => written().length === Math.min(sent + 2, 4))
  }
  await receiver.stop()
  expect(existsSync(join(folder, 'a-note.json'))).toBe(true)
  rmSync(join(folder, 'a-note.json'))
  const kept = await loadRecordedRequests(folder)
  expect(kept.map(({ bytes }) => parseRecordedRequest(bytes).body.toString())).toEqual([
    '{"Id":"3"}',
    '{"Id":"4"}',
    '{"Id":"5"}',
  ])
})

test('requests of a clock that was ahead are removed first once it was set back', async () => {
  let now = Date.parse('2027-11-03T09:14:27Z')
  const { send, receiver } = await run({ keep: 3 }, { clock: () => now })
  const refused = (Id: string) => send(genuine({ payload: { Id }, headers: { Authorization: FORGED } }))
  for (const id of ['ahead 1', 'ahead 2', 'ahead 3']) await refused(id)
  await until(() => written().length === 3)
  now = Date.parse('2026-11-03T09:14:27Z')
  for (const id of ['1', '2', '3']) await refused(id)
  await receiver.stop()
  const kept = await loadRecordedRequests(folder)
  // Their order is that of their times, which are the clock less the time that each took.
  expect(kept.map(({ bytes }) => parseRecordedRequest(bytes).body.toString()).sort()).toEqual([
    '{"Id":"1"}',
    '{"Id":"2"}',
    '{"Id":"3"}',
  ])
})

test('the files stay below maxBytes', async () => {
  const { send, receiver } = await run({ maxBytes: 10_000 })
  for (let sent = 0; sent < 5; sent++)
    await send(genuine({ payload: { Id: 'x'.repeat(3_000) }, headers: { Authorization: FORGED } }))
  await receiver.stop()
  const bytes = readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  expect(bytes).toBeLessThanOrEqual(10_000)
  expect(written().length).toBeGreaterThan(0)
})

test('a flood of forged requests writes no more than perSecond', async () => {
  const { receiver } = await run({ perSecond: 5 }, { logRefusalsPerSecond: 0 })
  const { headers, body } = genuine({ headers: { Authorization: FORGED } })
  const startedAt = performance.now()
  for (let sent = 0; sent < 2_000; sent += 100)
    await Promise.all(
      Array.from({ length: 100 }, () => receiver.receive({ method: 'POST', path: '/', headers, body })),
    )
  await receiver.stop()
  const seconds = 1 + Math.ceil((performance.now() - startedAt) / 1_000)
  expect(written().length).toBeGreaterThanOrEqual(5)
  expect(written().length).toBeLessThanOrEqual(5 * seconds)
})

test('a sender can neither name a file nor add header lines', async () => {
  const { receiver } = await run()
  const headers = { ...genuine({ headers: { Authorization: FORGED } }).headers, 'X-Event-Type': '../../evil' }
  const hostile = { ...headers, 'bad name: x\r\nInjected': 'a', 'X-Fine': 'a\r\nInjected: b' }
  await receiver.receive({
    method: 'POST',
    path: '/a b\r\nInjected: c',
    headers: hostile,
    body: Buffer.from('{}'),
  })
  await receiver.stop()
  const [recorded] = await loadRecordedRequests(folder)
  const { rawHeaders, target } = parseRecordedRequest(recorded!.bytes)
  expect(target).toBe('/a%20b%0D%0AInjected:%20c')
  expect(rawHeaders.filter((name) => /injected$/i.test(name))).toEqual([])
  expect(readdirSync(parent)).toEqual(['captured'])
  for (const file of readdirSync(folder)) expect(file).toMatch(/^[\w-]+\.(http|json)$/)
})

test('a header that an application passed to receive() as a number is captured as text', async () => {
  const { receiver, log } = await run()
  const { headers } = genuine({ headers: { Authorization: FORGED } })
  const asNumber = { 'Content-Length': 2 as unknown as string }
  await receiver.receive({
    method: 'POST',
    path: '/',
    headers: { ...headers, ...asNumber },
    body: Buffer.from('{}'),
  })
  await receiver.stop()
  expect(log.withCode('WARN_CAPTURE_FAILED')).toEqual([])
  const [recorded] = await loadRecordedRequests(folder)
  expect(parseRecordedRequest(recorded!.bytes).rawHeaders.join(': ')).toMatch(/content-length: 2\b/i)
})

test('a disk that cannot be written is a warning, and no answer changes', async () => {
  const { send, receiver, log } = await run({}, { logRefusalsPerSecond: 1_000 })
  const forged = () => send(genuine({ headers: { Authorization: FORGED } }))
  const first = await forged()
  await until(() => written().length === 1)
  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'in the way')
  for (let sent = 0; sent < 5; sent++) expect((await forged()).status).toBe(first.status)
  await receiver.stop()
  const warnings = log.withCode('WARN_CAPTURE_FAILED')
  expect(warnings.filter(({ fields }) => 'err' in fields)).toHaveLength(1)
  expect(readFileSync(folder, 'utf8')).toBe('in the way')
})

test('a disk that cannot be written for a minute is two lines', async () => {
  const pass = fakeTimeouts('Date')
  const { send, receiver, log } = await run({ perSecond: 100 })
  writeFileSync(folder, 'in the way')
  const warnings = () => log.withCode('WARN_CAPTURE_FAILED')
  for (let sent = 0; sent < 3; sent++) {
    await send(genuine({ headers: { Authorization: FORGED } }))
    await until(() => warnings().length === 1)
    await pass(10_000)
  }
  await receiver.stop()
  expect(warnings()).toMatchObject([
    { fields: { err: { code: 'EEXIST' } }, message: 'a request was not captured' },
    { fields: { suppressed: 2 }, message: expect.stringMatching(/^a request was not captured: 2 more in /) },
  ])
})

test('a folder that became a symbolic link is not followed', async () => {
  const { send, receiver, log } = await run()
  const elsewhere = join(parent, 'elsewhere')
  mkdirSync(elsewhere, { mode: 0o700 })
  symlinkSync(elsewhere, folder)
  await send(genuine({ headers: { Authorization: FORGED } }))
  await receiver.stop()
  expect(readdirSync(elsewhere)).toEqual([])
  expect(lstatSync(folder).isSymbolicLink()).toBe(true)
  expect(String(log.withCode('WARN_CAPTURE_FAILED')[0]?.fields['err'])).toContain('symbolic link')
})

test('no file handle stays open', async () => {
  const { send, receiver } = await run()
  for (let sent = 0; sent < 5; sent++) await send(genuine({ headers: { Authorization: FORGED } }))
  await receiver.stop()
  expect(openFiles().filter((file) => file.startsWith(folder))).toEqual([])
})
