import { outcome } from '../../src/callback/outcomes.js'
import { parseAuthenticatorOptions } from '../../src/callback/authenticator.js'
import { EventChannel } from '../../src/events/event-channel.js'
import { plainRequest } from '../../src/http/plain-request.js'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import { DIAGNOSIS_BOUNDS, RefusalDiagnosis } from '../../src/receiver/refusal-diagnosis.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { collectedLog } from '../support/collected-log.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { countingReceiver, MISMATCH, misconfigured, plain } from './misconfigured-receiver.js'

test('2,000 forged requests cause one explanation and one line of it in ten seconds', async () => {
  const { receiver, log, calls } = countingReceiver()
  const forged = plain(genuine({ headers: { Authorization: FORGED } }))
  const lines = () => log.withCode('WARN_SIGNATURE_EXPLAINED').length
  const startedAt = performance.now()
  for (let sent = 0; sent < 2_000; sent += 100)
    await Promise.all(Array.from({ length: 100 }, () => receiver.receive(forged)))
  await until(() => calls() > 2_000 && lines() === calls() - 2_000)
  const intervals = 1 + Math.floor((performance.now() - startedAt) / 10_000)
  expect(lines()).toBeGreaterThanOrEqual(1)
  expect(lines()).toBeLessThanOrEqual(intervals)
})

test('explanations end when the minute has no time left, and begin again after it', async () => {
  const { clock, mismatch, explained } = withClock({ intervalMs: 1_000, msPerMinute: 100 })
  clock.msPerSearch = 30
  let found = 0
  for (let second = 0; second < 30; second++) {
    found += await explained(mismatch)
    clock.now += 1_000
  }
  expect(found).toBe(4)
  clock.now += 60_000
  expect(await explained(mismatch)).toBe(1)
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
  const { request, mismatch, explained } = withClock({ intervalMs: 1, msPerMinute: 60_000 })
  expect(await explained({ ...mismatch, request: request(Buffer.alloc(65_537)) })).toBe(0)
  expect(await explained({ ...mismatch, request: request(undefined) })).toBe(0)
  expect(await explained({ ...mismatch, outcome: outcome('ERR_TIMESTAMP_MALFORMED') })).toBe(0)
  expect(await explained(mismatch)).toBe(1)
})

const DEFAULTS = { ...DIAGNOSIS_BOUNDS }
afterEach(() => void Object.assign(DIAGNOSIS_BOUNDS, DEFAULTS))

function withClock(bounds: typeof DIAGNOSIS_BOUNDS) {
  Object.assign(DIAGNOSIS_BOUNDS, bounds)
  const clock = { now: 1_000_000, msPerSearch: 0 }
  const log = collectedLog()
  const secrets = new KnownSecrets()
  const authentication = parseAuthenticatorOptions('test', { subscriptions: misconfigured }, log, secrets)
  log.lines.length = 0
  const now = () => clock.now
  const startTimer = () => ({ usedMs: () => clock.msPerSearch })
  const events = new EventChannel(() => {})
  const diagnosis = new RefusalDiagnosis({ authentication, logger: log, events, now, startTimer })
  const callback = plain(signedCallback({ subscription }))
  const request = (body: Buffer | undefined) => Object.assign(plainRequest(callback), { body })
  const mismatch = { request: request(Buffer.from(callback.body)), outcome: outcome(MISMATCH), durationMs: 1 }
  /** How many lines the request causes. */
  const explained = async (answered: typeof mismatch): Promise<number> => {
    const before = log.lines.length
    diagnosis.consider(answered)
    for (let turn = 0; turn < 5 && log.lines.length === before; turn++) await new Promise(setImmediate)
    return log.lines.length - before
  }
  return { clock, request, mismatch, explained }
}
