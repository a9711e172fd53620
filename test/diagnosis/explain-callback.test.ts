import {
  CAUSES,
  explainCallback,
  type ExplainOptions,
  type ReceivedRequest,
} from '../../src/diagnosis/index.js'
import { DEPLOYMENTS } from './deployments.js'
import { CONFIGURED, received } from './signed-elsewhere.js'

test('finds nothing wrong with a genuine callback, by one HMAC', () => {
  const explanation = explainCallback(received({}), { subscriptions: [CONFIGURED] })
  expect(explanation).toEqual({ verified: true, findings: [], hmacs: 1 })
})

test.each(DEPLOYMENTS.map((each) => [`${each.cause}: ${each.mistake}`, each] as const))(
  '%s, without a secret, a signature or a body',
  (_, { cause, togetherWith, certainty = 'proven', request, options }) => {
    // More time than by default, as the machine of a test may be busy.
    const settings = { subscriptions: [CONFIGURED], maxMs: 10_000, ...options }
    const explanation = explainCallback(request, settings)
    const { findings } = explanation
    expect(findings[0]).toMatchObject({
      cause,
      certainty,
      message: expect.any(String),
      cure: expect.any(String),
    })
    expect(findings[0]?.togetherWith).toBe(togetherWith)
    expectNothingSecret(JSON.stringify(explanation), request, settings)
  },
)

function expectNothingSecret(output: string, { body }: ReceivedRequest, settings: ExplainOptions): void {
  const { subscriptions, previousSecrets = [] } = settings
  const secrets = [
    ...subscriptions.flatMap(({ secret }) => secret ?? []),
    ...previousSecrets,
    CONFIGURED.secret,
  ]
  for (const form of secrets.flatMap(formsOf)) expect(output).not.toContain(form)
  // Every run that may be a signature: of the request, or one that would be valid.
  expect(output).not.toMatch(/[A-Za-z\d+/_-]{42,}/)
  const text = Buffer.from(body).toString('utf8')
  if (text.length > 4) expect(output).not.toContain(JSON.stringify(text).slice(1, -1))
  for (const { callbackUrl } of subscriptions) {
    const query = callbackUrl.split('?')[1]
    if (query) expect(output).not.toContain(query)
  }
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const forms = [
    secret,
    secret.trim(),
    bytes.toString('base64'),
    bytes.toString('hex'),
    encodeURIComponent(secret),
  ]
  const decoded =
    bytes.toString('base64') === secret ? [] : [Buffer.from(secret, 'base64').toString('latin1')]
  return [...forms, ...decoded]
    .filter((form) => form.length > 4)
    .map((form) => JSON.stringify(form).slice(1, -1))
}

test('every cause has a deployment', () => {
  const named = new Set(DEPLOYMENTS.flatMap(({ cause, togetherWith }) => [cause, togetherWith ?? cause]))
  expect(Object.keys(CAUSES).filter((cause) => !named.has(cause as keyof typeof CAUSES))).toEqual([])
  expect(DEPLOYMENTS.length).toBeGreaterThanOrEqual(60)
})

test('a retry is no replay: it has the same signature and the same idempotency key', () => {
  const options = { subscriptions: [CONFIGURED], otherRequests: [received({})] }
  expect(explainCallback(received({}), options)).toMatchObject({ verified: true, findings: [] })
})
