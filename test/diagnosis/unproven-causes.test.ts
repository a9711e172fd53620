import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { explainCallback, type Cause, type ReceivedRequest } from '../../src/diagnosis/index.js'
import { CONFIGURED, received, type Headers } from './signed-elsewhere.js'

const explain = (request: ReceivedRequest) =>
  explainCallback(request, { subscriptions: [CONFIGURED], maxMs: 10_000 })
const random = (form: BufferEncoding) => randomBytes(32).toString(form)
const base64url = () => Buffer.concat([Buffer.from([0xfb, 0xef]), randomBytes(30)]).toString('base64url')
const instead =
  (name: string, ...lines: Headers) =>
  (headers: Headers) =>
    headers.flatMap((header) => (header[0] === name ? lines : [header]))
const authorization = (...values: string[]) =>
  instead('Authorization', ...values.map((value) => ['Authorization', value] as const))

/** What a forger may send, with the cause that it looks like. */
const FORGED: [string, Cause, (headers: Headers) => Headers][] = [
  ['hexadecimal digits', 'authorization-hex', authorization(`HMAC-SHA256 Signature=${random('hex')}`)],
  ['only hexadecimal digits', 'authorization-hex', authorization(random('hex').toUpperCase())],
  ['URL-safe Base64', 'authorization-url-safe-base64', authorization(`HMAC-SHA256 Signature=${base64url()}`)],
  [
    'Base64 without padding',
    'authorization-url-safe-base64',
    authorization(`HMAC-SHA256 Signature=${random('base64').slice(0, 43)}`),
  ],
  ['quotes', 'authorization-scheme', authorization(`HMAC-SHA256 Signature="${random('base64')}"`)],
  ['another scheme', 'authorization-scheme', authorization(`HMAC-SHA1 Signature=${random('base64')}`)],
  [
    'two signatures',
    'authorization-repeated',
    authorization(`HMAC-SHA256 Signature=${random('base64')}`, `HMAC-SHA256 Signature=${random('base64')}`),
  ],
  [
    'two timestamps',
    'timestamp-repeated',
    instead('Authorization-Timestamp', ...twice('Authorization-Timestamp', new Date(0).toUTCString())),
  ],
  [
    'a timestamp in ISO 8601',
    'timestamp-reformatted',
    instead('Authorization-Timestamp', ['Authorization-Timestamp', '2026-11-03T09:14:27Z']),
  ],
]

function twice(name: string, value: string): Headers {
  return [
    [name, value],
    [name, value],
  ]
}

test.each(FORGED)('a cause that was tried without a match is not shown as one: %s', (_, cause, change) => {
  const request = received({ secret: 'nobody-knows-this-0123456789' }, { headers: change })
  const { verified, findings } = explain(request)
  expect(verified).toBe(false)
  expect(findings).toMatchObject([
    {
      cause: 'forged-or-unknown',
      certainty: 'likely',
      details: { ruledOut: expect.arrayContaining([cause]) },
    },
  ])
})

test('a compressed body that was decompressed and matched nothing is not the cause', () => {
  const request = received({ secret: 'nobody-knows-this-0123456789' }, { body: gzipSync('{"Id":"1"}') })
  expect(explain(request).findings.map(({ cause }) => cause)).toEqual(['forged-or-unknown'])
})

test('a short secret is no sign of anything in a forged request', () => {
  const request = received({ secret: 'nobody-knows-this-0123456789' })
  const { findings } = explainCallback(request, {
    subscriptions: [{ ...CONFIGURED, secret: 'short' }],
    maxMs: 10_000,
  })
  expect(findings.map(({ cause }) => cause)).toEqual(['forged-or-unknown'])
})

test('a renamed header with a forged signature leaves what did not arrive', () => {
  const rename = instead('Authorization', [
    'X-Original-Authorization',
    `HMAC-SHA256 Signature=${random('base64')}`,
  ])
  const { findings } = explain(received({}, { headers: rename }))
  expect(findings.map(({ cause }) => cause)).toEqual(['authorization-stripped', 'forged-or-unknown'])
})

test.each([
  'OAuth oauth_consumer_key="key", oauth_signature="tnnArxj06cWHq44gCs1OSKk%2FjLY%3D"',
  'AWS4-HMAC-SHA256 Credential=AKIA/20261103/eu/s3/aws4_request, SignedHeaders=host, Signature=' +
    random('hex'),
  'GOOG4-RSA-SHA256 Credential=x, SignedHeaders=host, Signature=' + randomBytes(256).toString('hex'),
  'EG1-HMAC-SHA256 client_token=a;access_token=b;timestamp=c;nonce=d;signature=' + random('base64'),
  'Digest username="u", response="6629fae49393a05397450978507c4ef1"',
  'Negotiate YIIJvwYGKwYBBQUCoIIJszCCCa+gJDAi',
  'DPoP eyJhbGciOiJFUzI1NiJ9.e30.abc',
  'Token 0123456789abcdef0123456789abcdef01234567',
  'SharedAccessSignature sr=x&sig=' + encodeURIComponent(random('base64')),
  'Bearer ' + random('hex'),
])('credentials of another scheme are named, and nothing is claimed of a signature: %s', (value) => {
  for (const bodyRead of [true, false]) {
    const request = received({}, { headers: authorization(value) })
    const { findings } = explain({ ...request, bodyRead })
    expect(findings.map(({ cause }) => cause)).toEqual(['authorization-replaced', 'forged-or-unknown'])
    expect(findings[0]!.details.sign).toBe(`Authorization has the scheme ${value.split(' ')[0]}`)
  }
})

test('no finding that is only likely says what was signed, or that the signature is right', () => {
  const signs: ReceivedRequest[] = [
    ...FORGED.map(([, , headers]) => ({ ...received({}, { headers, body: '' }), bodyRead: false })),
    received({ secret: 'x'.repeat(20) }, { body: '{"a":"\ufffd"}' }),
    received({ secret: 'x'.repeat(20) }, { body: '{}' }),
    received({}, { headers: instead('Authorization-Timestamp', ['Authorization-Timestamp', 'today']) }),
    received(
      { secret: 'x'.repeat(20) },
      { headers: (headers) => [...headers, ['Content-Encoding', 'gzip']] },
    ),
  ]
  for (const request of signs) {
    const { findings } = explain(request)
    expect(findings.every(({ certainty }) => certainty === 'likely')).toBe(true)
    for (const { message } of findings.filter(({ cause }) => cause !== 'forged-or-unknown'))
      expect(message).not.toMatch(/was (?:made|signed)|were signed|is right|is written/)
  }
})
