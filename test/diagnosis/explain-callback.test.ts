import { CAUSES, explainCallback } from '../../src/diagnosis/index.js'
import { DEPLOYMENTS } from './deployments.js'
import { CONFIGURED, received } from './signed-elsewhere.js'

test('finds nothing wrong with a genuine callback, by one HMAC', () => {
  const explanation = explainCallback(received({}), { subscriptions: [CONFIGURED] })
  expect(explanation).toEqual({ verified: true, findings: [], hmacs: 1 })
})

test.each(DEPLOYMENTS.map((each) => [`${each.cause}: ${each.mistake}`, each] as const))(
  '%s',
  (_, { cause, togetherWith, certainty = 'proven', request, options }) => {
    // More time than by default, as the machine of a test may be busy.
    const { findings } = explainCallback(request, { subscriptions: [CONFIGURED], maxMs: 10_000, ...options })
    expect(findings[0]).toMatchObject({
      cause,
      certainty,
      message: expect.any(String),
      cure: expect.any(String),
    })
    expect(findings[0]?.togetherWith).toBe(togetherWith)
  },
)

test('every cause has a deployment', () => {
  const named = new Set(DEPLOYMENTS.flatMap(({ cause, togetherWith }) => [cause, togetherWith ?? cause]))
  expect(Object.keys(CAUSES).filter((cause) => !named.has(cause as keyof typeof CAUSES))).toEqual([])
  expect(DEPLOYMENTS.length).toBeGreaterThanOrEqual(60)
})

test('a retry is no replay: it has the same signature and the same idempotency key', () => {
  const options = { subscriptions: [CONFIGURED], otherRequests: [received({})] }
  expect(explainCallback(received({}), options)).toMatchObject({ verified: true, findings: [] })
})
