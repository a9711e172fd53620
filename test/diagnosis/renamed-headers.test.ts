import { explainCallback, type ReceivedRequest } from '../../src/diagnosis/index.js'
import { CONFIGURED, received, signature, SIGNED, type Headers } from './signed-elsewhere.js'

const explain = (request: ReceivedRequest) =>
  explainCallback(request, { subscriptions: [CONFIGURED], maxMs: 10_000 }).findings
const renamed =
  (...names: [from: string, to: string][]) =>
  (headers: Headers) =>
    headers.map(([name, value]) => [names.find(([from]) => from === name)?.[1] ?? name, value] as const)
const LATER = 'Tue, 03 Nov 2026 09:14:29 GMT'

test('the header that has the signature is named', () => {
  for (const [name, shown] of [
    ['X-Original-Authorization', 'X-Original-Authorization'],
    ['x-forwarded-authorization', 'X-Forwarded-Authorization'],
    ['X_HTTP_AUTHORIZATION', 'X_Http_Authorization'],
  ] as const) {
    const [finding] = explain(received({}, { headers: renamed(['Authorization', name]) }))
    expect(finding).toMatchObject({
      cause: 'headers-renamed',
      certainty: 'proven',
      message: `The signature arrived in ${shown}, and Authorization did not arrive.`,
      details: { changes: [`${shown} has the signature`] },
    })
  }
})

test('it is said that Authorization arrived with something else', () => {
  const headers = (each: Headers) => [
    ...renamed(['Authorization', 'X-Original-Authorization'])(each),
    ['Authorization', 'Bearer abc'] as const,
  ]
  expect(explain(received({}, { headers }))[0]).toMatchObject({
    message:
      'The signature arrived in X-Original-Authorization, and Authorization has no signature that matches.',
  })
})

test('both headers are named if both were renamed', () => {
  const headers = renamed(
    ['Authorization', 'X-Amzn-Remapped-Authorization'],
    ['Authorization-Timestamp', 'X-Amzn-Remapped-Authorization-Timestamp'],
  )
  const [finding] = explain(received({}, { headers }))
  expect(finding!.message).toMatch(
    /X-Amzn-Remapped-Authorization, .*X-Amzn-Remapped-Authorization-Timestamp /,
  )
  expect(finding).not.toHaveProperty('togetherWith')
})

test.each(['Date', 'X-Signed-At', 'X-Amz-Date'])(
  'a sender that signs %s and sends Authorization-Timestamp as well is told to sign that one',
  (name) => {
    const headers = (each: Headers) => [
      ...each.map(([key, value]) => [key, key === 'Authorization-Timestamp' ? LATER : value] as const),
      [name, SIGNED.timestamp] as const,
    ]
    expect(explain(received({}, { headers }))).toMatchObject([
      {
        cause: 'headers-renamed',
        certainty: 'proven',
        message: `The value of ${name} was signed, and Authorization-Timestamp arrived with another value.`,
        cure: expect.stringContaining(
          `Have the sender sign the value of Authorization-Timestamp, not that of ${name}.`,
        ),
      },
    ])
  },
)

test('a sender that signs Date and sends no Authorization-Timestamp is told to send it', () => {
  const [finding] = explain(received({}, { headers: renamed(['Authorization-Timestamp', 'Date']) }))
  expect(finding).toMatchObject({
    cause: 'headers-renamed',
    message: 'The value of Date was signed, and Authorization-Timestamp did not arrive.',
    cure: expect.stringContaining('Have the sender send what it signs as Authorization-Timestamp'),
  })
})

test('a header is named also where the body is not known', () => {
  const request = received({}, { headers: renamed(['Authorization', 'X-Original-Authorization']) })
  expect(explain({ ...request, bodyRead: false })[0]).toMatchObject({
    cause: 'headers-renamed',
    certainty: 'likely',
    details: { sign: 'X-Original-Authorization has what may be the signature' },
  })
})

test('a secret, a signature or a control character in the name of a header is not repeated', () => {
  const secret = CONFIGURED.secret.slice(0, 20)
  const hex = signature(SIGNED).toString('hex')
  for (const name of [
    `X-Auth-${secret}`,
    `X-Auth-${hex}`,
    `X-Auth-${hex.slice(0, 30)}`,
    'X-Auth-\x1b[31m',
    `${'X-Auth-'.repeat(60)}x`,
  ]) {
    const request = received({ secret }, { headers: renamed(['Authorization', name]) })
    const found = [
      explainCallback(request, { subscriptions: [{ ...CONFIGURED, secret }], maxMs: 10_000 }).findings,
      explain({ ...request, bodyRead: false }),
    ]
    expect(found[0]![0]).toMatchObject({ cause: 'headers-renamed', certainty: 'proven' })
    const output = JSON.stringify(found).toLowerCase()
    expect(output).not.toContain(secret.toLowerCase())
    expect(output).not.toContain(hex.slice(0, 30))
    expect(output).not.toContain('31m')
    expect(output.length).toBeLessThan(4_000)
  }
})
