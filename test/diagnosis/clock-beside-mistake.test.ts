import { explainCallback, type ExplainOptions, type ReceivedRequest } from '../../src/diagnosis/index.js'
import { BASE64 } from './deployments/wrong-secrets.js'
import { CONFIGURED, received, SIGNED, type Headers } from './signed-elsewhere.js'

const HOUR_MS = 3_600_000
const SIGNED_AT = Date.parse(SIGNED.timestamp)
const at = (request: ReceivedRequest, hours: number) => ({
  ...request,
  receivedAt: new Date(SIGNED_AT + hours * HOUR_MS),
})
const explain = (request: ReceivedRequest, options: Partial<ExplainOptions> = {}) =>
  explainCallback(request, { subscriptions: [CONFIGURED], maxMs: 10_000, ...options }).findings.map(
    ({ cause, certainty, details }) => [cause, certainty, details.differenceMs],
  )
const timestamp = (value: string) => (headers: Headers) =>
  headers.map(([name, old]) => [name, name === 'Authorization-Timestamp' ? value : old] as const)
const WRONG_SECRET = { subscriptions: [{ ...CONFIGURED, secret: BASE64 }] }

test('the clock is compared also where the secret is wrong', () => {
  expect(explain(at(received({}), -1), WRONG_SECRET)).toEqual([
    ['secret-is-base64', 'proven', undefined],
    ['clock-skew', 'proven', -HOUR_MS],
  ])
  expect(explain(at(received({}), 30), WRONG_SECRET)).toEqual([
    ['secret-is-base64', 'proven', undefined],
    ['delivery-late', 'likely', 30 * HOUR_MS],
  ])
  expect(explain(at(received({}), 1), WRONG_SECRET)).toEqual([['secret-is-base64', 'proven', undefined]])
})

test('other requests show a wrong clock also where the secret is wrong', () => {
  const other = received({ timestamp: 'Tue, 03 Nov 2026 10:14:27 GMT' })
  const otherRequests = [{ ...other, receivedAt: new Date(SIGNED_AT + 31 * HOUR_MS) }]
  expect(explain(at(received({}), 30), { ...WRONG_SECRET, otherRequests }).map(([cause]) => cause)).toEqual([
    'secret-is-base64',
    'clock-skew',
    'delivery-late',
  ])
})

test('a replay is seen also where the secret is wrong', () => {
  const headers = (each: Headers) =>
    each.map(
      ([name, value]) =>
        [name, name === 'X-Idempotency-Key' ? '00000000-0000-4000-8000-000000000000' : value] as const,
    )
  const otherRequests = [received({}, { headers })]
  expect(explain(received({}), { ...WRONG_SECRET, otherRequests }).map(([cause]) => cause)).toEqual([
    'secret-is-base64',
    'replayed',
  ])
})

test('the time that was signed counts, in whichever header it arrived', () => {
  const ofDate = (headers: Headers) => [
    ...timestamp('Tue, 03 Nov 2026 08:14:29 GMT')(headers),
    ['Date', SIGNED.timestamp] as const,
  ]
  expect(explain(at(received({}, { headers: ofDate }), -1))).toEqual([
    ['headers-renamed', 'proven', undefined],
    ['clock-skew', 'proven', -HOUR_MS],
  ])
})

test('a zone that is called GMT is no wrong clock', () => {
  const request = received(
    { timestamp: 'Tue, 03 Nov 2026 10:14:27 GMT' },
    { headers: timestamp('2026-11-03T09:14:27Z') },
  )
  expect(explain(at(request, 0))).toEqual([['timestamp-reformatted', 'proven', undefined]])
})

test('a time without a zone says nothing about the clock', () => {
  const request = received({}, { headers: timestamp('2026-11-03 09:14:27') })
  expect(explain(at(request, -48)).map(([cause]) => cause)).not.toContain('clock-skew')
})

test('the time of a request that may be forged is compared, comes last, and proves nothing', () => {
  const forged = received({ secret: 'nobody-knows-this-0123456789' })
  expect(explain(at(forged, -1))).toEqual([
    ['forged-or-unknown', 'likely', undefined],
    ['clock-skew', 'likely', -HOUR_MS],
  ])
  expect(explain(at(forged, 30))).toEqual([
    ['forged-or-unknown', 'likely', undefined],
    ['delivery-late', 'likely', 30 * HOUR_MS],
  ])
  expect(explain(at(forged, 1))).toEqual([['forged-or-unknown', 'likely', undefined]])
  expect(
    explainCallback(at(forged, 30), { subscriptions: [CONFIGURED], maxMs: 10_000 }).findings.at(-1)!.cure,
  ).not.toContain('Raise toleranceMs')
  const stripped = received({}, { headers: (all) => all.filter(([name]) => name !== 'Authorization') })
  expect(explain(at(stripped, -1)).map(([cause]) => cause)).toEqual([
    'authorization-stripped',
    'forged-or-unknown',
    'clock-skew',
  ])
})
