import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { explainCallback, type Cause, type ExplainOptions } from '../../src/diagnosis/index.js'
import { randomRuns } from '../support/random-runs.js'
import { CONFIGURED, received, signature, SIGNED, type Headers } from './signed-elsewhere.js'

const proven = (request: Parameters<typeof explainCallback>[0], options: Partial<ExplainOptions> = {}) =>
  explainCallback(request, { subscriptions: [CONFIGURED], maxMs: 10_000, ...options })
    .findings.filter(({ certainty }) => certainty === 'proven')
    .map(({ cause, togetherWith }) => (togetherWith ? `${cause} ${togetherWith}` : cause))

const words = fc.string({
  unit: fc.constantFrom(...Array.from('abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMN23456789-_.~')),
  minLength: 16,
  maxLength: 40,
})

/** Each gives the configured secret and the one that the service signs with. */
const ofSecret: readonly (readonly [
  Cause,
  (word: string) => readonly [configured: string, signedWith: string],
])[] = [
  ['secret-encoded-twice', (word) => [word, Buffer.from(word).toString('base64')]],
  ['secret-case', (word) => [`aB${word}`.toLowerCase(), `aB${word}`.toUpperCase()]],
  ['secret-truncated', (word) => [`${word}#rest`, word]],
  ['secret-unicode-form', (word) => [`é${word}`.normalize('NFC'), `é${word}`.normalize('NFD')]],
  ['secret-quotes', (word) => [`NAME=${word}`, word]],
  ['secret-hex-or-url-form', (word) => [`${word}%2B`, `${word}+`]],
]

test.each(ofSecret)('a change of any secret is named: %s', (cause, change) => {
  fc.assert(
    fc.property(words, (word) => {
      const [secret, signedWith] = change(word)
      const subscriptions = [{ ...CONFIGURED, secret }]
      expect(proven(received({ secret: signedWith }), { subscriptions })).toContain(cause)
    }),
    { numRuns: randomRuns(12) },
  )
})

test('a secret of another subscription or of the past is named, whatever it is', () => {
  fc.assert(
    fc.property(words, (word) => {
      const other = {
        eventTypeName: 'accounts.closed',
        callbackUrl: 'https://partner.example.com/other',
        secret: word,
      }
      const request = received({ secret: word })
      expect(proven(request, { subscriptions: [CONFIGURED, other] })).toContain(
        'secret-of-other-subscription',
      )
      expect(proven(request, { previousSecrets: [word] })).toEqual(['secret-of-previous-rotation'])
    }),
    { numRuns: randomRuns(20) },
  )
})

test('a secret that lost its letter case is named if the original is given', () => {
  const subscriptions = [{ ...CONFIGURED, secret: CONFIGURED.secret.toUpperCase() }]
  const found = proven(received({}), { subscriptions, previousSecrets: [CONFIGURED.secret] })
  expect(found).toEqual(['secret-case'])
})

const only =
  (changed: string, change: (value: string) => readonly (readonly [string, string])[]) =>
  (headers: Headers) =>
    headers.flatMap(([name, value]) => (name === changed ? change(value) : [[name, value] as const]))
const bytesOf = (value: string) => Buffer.from(value.slice(-44), 'base64')

const ofHeaders: readonly (readonly [Cause, (headers: Headers) => Headers])[] = [
  [
    'authorization-hex',
    only('Authorization', (value) => [
      ['Authorization', `HMAC-SHA256 Signature=${bytesOf(value).toString('hex')}`],
    ]),
  ],
  [
    'authorization-url-safe-base64',
    only('Authorization', (value) => [
      ['Authorization', `HMAC-SHA256 Signature=${bytesOf(value).toString('base64url')}`],
    ]),
  ],
  [
    'authorization-scheme',
    only('Authorization', (value) => [['Authorization', `SharedKey ${value.slice(-44)}`]]),
  ],
  [
    'authorization-repeated',
    only('Authorization', (value) => [
      ['Authorization', value],
      ['Authorization', value],
    ]),
  ],
  ['headers-renamed', only('Authorization', (value) => [['X-Original-Authorization', value]])],
  ['headers-renamed', only('Authorization-Timestamp', (value) => [['X-Authorization-Timestamp', value]])],
  [
    'timestamp-repeated',
    only('Authorization-Timestamp', (value) => [
      ['Authorization-Timestamp', value],
      ['Authorization-Timestamp', value],
    ]),
  ],
  [
    'timestamp-reformatted',
    only('Authorization-Timestamp', (value) => [['Authorization-Timestamp', new Date(value).toISOString()]]),
  ],
  [
    'timestamp-reformatted',
    only('Authorization-Timestamp', (value) => [
      ['Authorization-Timestamp', String(Date.parse(value) / 1000)],
    ]),
  ],
]

const moments = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2039-12-31'), noInvalidDate: true })
  .map((date) => date.toUTCString())
const bodies = fc
  .record({ Id: fc.uuid(), text: fc.string({ unit: 'grapheme', maxLength: 40 }) })
  .filter(({ text }) => text.isWellFormed())
  .map((payload) => JSON.stringify(payload))

test.each(ofHeaders)(
  'a change of the headers is named, and nothing else, whatever is signed: %s',
  (cause, headers) => {
    fc.assert(
      fc.property(moments, bodies, (timestamp, body) => {
        const found = proven(received({ timestamp, body }, { headers }))
        expect(found).toEqual([cause])
      }),
      { numRuns: randomRuns(8) },
    )
  },
)

/** Each gives the bytes that arrive. */
const ofBody: readonly (readonly [Cause, (body: string) => Buffer])[] = [
  ['body-trimmed', (body) => Buffer.from(`${body}\r\n`)],
  ['body-compressed', (body) => gzipSync(body)],
  ['body-decoded', (body) => Buffer.from(Buffer.from(body).toString('base64'))],
]

test.each(ofBody)('an encoding of the body on the way is named, whatever is signed: %s', (cause, change) => {
  fc.assert(
    fc.property(bodies, (body) => {
      const arrived = change(body)
      fc.pre(!arrived.equals(Buffer.from(body)))
      expect(proven(received({ body }, { body: arrived }))).toContain(cause)
    }),
    { numRuns: randomRuns(14) },
  )
})

test('bytes that were appended to a body are named by its Content-Length', () => {
  const request = received(
    {},
    { headers: (headers) => [...headers, ['Content-Length', String(SIGNED.body.length)]] },
  )
  const appended = { ...request, body: Buffer.concat([request.body, Buffer.from(signature(SIGNED))]) }
  expect(proven(appended)).toEqual(['body-truncated'])
})
