import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createReceiver, type ReceiverOptions, type Subscription } from '../../src/index.js'
import { outcome } from '../../src/callback/outcomes.js'
import { parseAuthenticatorOptions } from '../../src/callback/authenticator.js'
import { explainCallback } from '../../src/diagnosis/index.js'
import { EventChannel } from '../../src/events/event-channel.js'
import type { ExplainedEvent } from '../../src/events/lifecycle-events.js'
import { plainHead } from '../../src/http/plain-request.js'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import { RefusalDiagnosis, type LoggedCause } from '../../src/receiver/refusal-diagnosis.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { collectedLog } from '../support/collected-log.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { FORGED, genuine, runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const BASE64 = Buffer.from(SECRET).toString('base64')
/** The secretText is configured, and the service signs with the text. */
const misconfigured = [{ ...subscription, secret: BASE64 }]

const MISMATCH = 'ERR_SIGNATURE_MISMATCH'

// The first search takes longer than later ones, as its code is not compiled yet.
beforeAll(() => {
  const { headers, body } = genuine()
  for (let run = 0; run < 5; run++)
    explainCallback({ path: '/', headers, body }, { subscriptions: misconfigured, maxMs: 10_000 })
})

/** A receiver whose `subscriptions` function is called once for each callback, and once more for each explanation. */
function countingReceiver(options: Partial<ReceiverOptions> = {}) {
  const log = collectedLog()
  let calls = 0
  const receiver = createReceiver({
    subscriptions: (): Subscription[] => {
      calls++
      return misconfigured
    },
    logger: log,
    logRefusalsPerSecond: 1_000_000,
    ...options,
  })
  return { receiver, log, calls: () => calls }
}

function plain(callback = genuine()) {
  return { method: 'POST', path: '/hooks/transfers', headers: callback.headers, body: callback.body }
}

// A busy machine may take the 50 ms of a search away from it, so a test asks again until the search was complete.
const OFTEN = { intervalMs: 1, msPerMinute: 60_000 }
const ATTEMPTS = 200

test('the line of a later refusal has the cause and the cure of an earlier one', async () => {
  const { receiver, log } = countingReceiver({ diagnosis: OFTEN })
  const first = genuine()
  const proven = () => log.withCode(MISMATCH).find(({ fields }) => fields['certainty'] === 'proven')
  for (let attempt = 0; attempt < ATTEMPTS && !proven(); attempt++) {
    await receiver.receive(plain(first))
    await new Promise(setImmediate)
  }
  expect(log.withCode(MISMATCH)[0]!.fields).not.toHaveProperty('cause')
  expect(proven()!.fields).toMatchObject({
    cause: 'secret-is-base64',
    cure: expect.stringContaining('Configure the decoded text'),
    causeOf: {
      idempotencyKey: first.headers['X-Idempotency-Key'],
      eventType: subscription.eventTypeName,
    },
  })
})

test('a subscriber of explained is told of the cause, also without a logger', async () => {
  const { receiver } = countingReceiver({ diagnosis: OFTEN, logger: false })
  const told: ExplainedEvent[] = []
  receiver.events.subscribe('explained', (event) => told.push(event))
  const proven = () => told.find(({ certainty }) => certainty === 'proven')
  for (let attempt = 0; attempt < ATTEMPTS && !proven(); attempt++) {
    await receiver.receive(plain())
    await new Promise(setImmediate)
  }
  expect(proven()).toEqual({
    cause: 'secret-is-base64',
    certainty: 'proven',
    cure: expect.stringContaining('Configure the decoded text'),
  })
})

test('without a logger and a subscriber nothing is explained', async () => {
  const { receiver, calls } = countingReceiver({ diagnosis: OFTEN, logger: false })
  for (let attempt = 0; attempt < 5; attempt++) {
    await receiver.receive(plain())
    await new Promise(setImmediate)
  }
  expect(calls()).toBe(5)
})

test('one line has a finding, and the next one does not', async () => {
  const { receiver, log, calls } = countingReceiver()
  await receiver.receive(plain())
  await until(() => calls() === 2)
  await receiver.receive(plain())
  await receiver.receive(plain())
  const hasCause = log.withCode(MISMATCH).map(({ fields }) => 'cause' in fields)
  expect(hasCause).toEqual([false, true, false])
})

test('on a real socket, the answers before and after an explanation are the same to the byte', async () => {
  let calls = 0
  const { send, log } = await runReceiver({
    subscriptions: () => {
      calls++
      return misconfigured
    },
  })
  const before = await send(genuine())
  await until(() => calls === 2)
  const after = await send(genuine())
  const withoutDate = ({ status, statusText, headers, body }: typeof before) => ({
    status,
    statusText,
    headers: { ...headers, date: '' },
    body,
  })
  expect(withoutDate(after)).toEqual(withoutDate(before))
  expect(before.status).toBe(401)
  expect(log.withCode(MISMATCH).map(({ fields }) => 'cause' in fields)).toEqual([false, true])
  expect(log.text()).not.toContain(SECRET)
  expect(log.text()).not.toContain(BASE64)
})

test('the answer has left before the search begins, however long that takes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-answered-'))
  const answered = join(folder, 'answered')
  const hasAnswer: boolean[] = []
  const { port } = await runReceiver({
    subscriptions: () => {
      // A loop, because the search does not give way to anything either. The second call is for the explanation.
      const endsAt = performance.now() + (hasAnswer.length === 1 ? 10_000 : 0)
      while (!existsSync(answered) && performance.now() < endsAt);
      hasAnswer.push(existsSync(answered))
      return misconfigured
    },
  })
  // In another process, as this one is blocked until the client has its answer.
  const client = `
    const socket = require('node:net').connect(${port}, '127.0.0.1', () => {
      socket.once('data', () => {
        require('node:fs').writeFileSync(${JSON.stringify(answered)}, '')
        socket.destroy()
      })
      socket.write(Buffer.from('${genuine().toHttp().toString('base64')}', 'base64'))
    })`
  await promisify(execFile)(process.execPath, ['-e', client])
  await until(() => hasAnswer.length === 2)
  expect(hasAnswer).toEqual([false, true])
  await rm(folder, { recursive: true })
})

test('2,000 forged requests cause one explanation in ten seconds', async () => {
  const { receiver, calls } = countingReceiver()
  const forged = plain(genuine({ headers: { Authorization: FORGED } }))
  const startedAt = performance.now()
  for (let sent = 0; sent < 2_000; sent += 100)
    await Promise.all(Array.from({ length: 100 }, () => receiver.receive(forged)))
  await new Promise(setImmediate)
  const intervals = 1 + Math.floor((performance.now() - startedAt) / 10_000)
  const explanations = calls() - 2_000
  expect(explanations).toBeGreaterThanOrEqual(1)
  expect(explanations).toBeLessThanOrEqual(intervals)
})

test('explanations end when the minute has no time left, and begin again after it', async () => {
  const { diagnosis, clock, log, mismatch, explained } = withClock({ intervalMs: 1_000, msPerMinute: 100 })
  clock.msPerSearch = 30
  let found = 0
  for (let second = 0; second < 30; second++) {
    found += await explained(mismatch)
    clock.now += 1_000
  }
  expect(found).toBe(4)
  clock.now += 60_000
  expect(await explained(mismatch)).toBe(1)
  expect(diagnosis.take()).toBeUndefined()
  expect(log.lines).toEqual([])
})

test('nothing is explained twice within the interval', async () => {
  const { clock, mismatch, explained } = withClock({ intervalMs: 10_000, msPerMinute: 60_000 })
  expect(await explained(mismatch)).toBe(1)
  clock.now += 9_000
  expect(await explained(mismatch)).toBe(0)
  clock.now += 1_500
  expect(await explained(mismatch)).toBe(1)
})

test('a body of more than 64 KiB and other refusals are not explained', async () => {
  const { mismatch, explained } = withClock({ intervalMs: 1, msPerMinute: 60_000 })
  expect(await explained({ ...mismatch, body: Buffer.alloc(65_537) })).toBe(0)
  expect(await explained({ ...mismatch, body: undefined })).toBe(0)
  expect(await explained({ ...mismatch, outcome: outcome('ERR_TIMESTAMP_MALFORMED') })).toBe(0)
  expect(await explained(mismatch)).toBe(1)
})

test('diagnosis: false switches it off', async () => {
  const { receiver, log, calls } = countingReceiver({ diagnosis: false })
  for (let sent = 0; sent < 3; sent++) {
    await receiver.receive(plain())
    await new Promise(setImmediate)
  }
  expect(calls()).toBe(3)
  expect(log.withCode(MISMATCH).every(({ fields }) => !('cause' in fields))).toBe(true)
})

test('a proven finding that no later refusal has carried is logged when the receiver stops', async () => {
  let last: unknown
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { receiver, log, calls } = countingReceiver()
    await receiver.receive(plain())
    await receiver.stop()
    expect(calls()).toBe(2)
    last = log.lines.at(-1)
    if (log.withCode('WARN_SIGNATURE_EXPLAINED').length > 0) break
  }
  expect(last).toMatchObject({
    level: 'warn',
    fields: { code: 'WARN_SIGNATURE_EXPLAINED', cause: 'secret-is-base64' },
  })
})

test('a stop waits at most a second for a subscriptions function that does not answer', async () => {
  let calls = 0
  const { receiver, log } = countingReceiver({
    subscriptions: () => (++calls === 2 ? new Promise<never>(() => {}) : misconfigured),
  })
  await receiver.receive(plain())
  await until(() => calls === 2)
  const pass = fakeTimeouts()
  let isStopped = false
  const stopping = receiver.stop().then(() => (isStopped = true))
  await pass(900)
  expect(isStopped).toBe(false)
  await pass(200)
  await stopping
  expect(log.withCode('WARN_DIAGNOSIS_FAILED')).toEqual([])
})

test('a subscriptions function that fails for the explanation is a warning, and affects no answer', async () => {
  let calls = 0
  const { receiver, log } = countingReceiver({
    subscriptions: () => {
      if (++calls === 2) throw new Error(`no database for ${SECRET}`)
      return [...misconfigured, subscription].slice(0, 1)
    },
  })
  await receiver.receive(plain())
  await until(() => log.withCode('WARN_DIAGNOSIS_FAILED').length === 1)
  expect((await receiver.receive(plain())).status).toBe(401)
})

test.each([
  [{ intervalMs: 0 }, 'diagnosis.intervalMs'],
  [{ msPerMinute: 0 }, 'diagnosis.msPerMinute'],
  [{ interval: 5 }, 'diagnosis'],
  [true, 'diagnosis'],
])('%p is refused', (diagnosis, option) => {
  const create = () =>
    createReceiver({ subscriptions: misconfigured, diagnosis: diagnosis as never, logger: false })
  expect(create).toThrow(expect.objectContaining({ option }))
})

function withClock(settings: { intervalMs: number; msPerMinute: number }) {
  const clock = { now: 1_000_000, msPerSearch: 0 }
  const log = collectedLog()
  const secrets = new KnownSecrets()
  const authentication = parseAuthenticatorOptions('test', { subscriptions: misconfigured }, log, secrets)
  log.lines.length = 0
  const now = () => clock.now
  const startTimer = () => ({ usedMs: () => clock.msPerSearch })
  const events = new EventChannel(() => {})
  const diagnosis = new RefusalDiagnosis(settings, { authentication, logger: log, events, now, startTimer })
  const request = plain(signedCallback({ subscription }))
  const mismatch = {
    outcome: outcome(MISMATCH),
    head: plainHead(request),
    body: Buffer.from(request.body) as Buffer | undefined,
    durationMs: 1,
  }
  /** How many findings the request causes. */
  const explained = async (answered: typeof mismatch): Promise<number> => {
    diagnosis.consider(answered)
    let found: LoggedCause | undefined
    for (let turn = 0; turn < 5 && !found; turn++) {
      await new Promise(setImmediate)
      found = diagnosis.take()
    }
    return found ? 1 : 0
  }
  return { diagnosis, clock, log, mismatch, explained }
}
