import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callbackUrlProblem, signCallback, stringToSign, verifyCallback } from '../../src/signature/index.js'
import { parseHttpDate } from '../../src/signature/timestamp.js'

interface Vector {
  readonly name: string
  readonly why: string
  readonly callbackUrl: string
  readonly pathAndQuery: string
  readonly host: string
  readonly secret: string
  readonly keyHex: string
  readonly timestamp: string
  readonly bodyText: string | null
  readonly bodyBase64: string
  readonly bodySha256Base64: string
  readonly stringToSign: string
  readonly hmacBase64: string
  readonly authorization: string
  readonly expect: { valid: true; signedAt: string } | { valid: false; code: string }
}

const folder = join(__dirname, '../../fixtures/vectors')
const committed = readFileSync(join(folder, 'signature.json'), 'utf8')
const { vectors } = JSON.parse(committed) as { vectors: Vector[] }
const accepted = vectors.filter((vector) => vector.expect.valid)
const refused = vectors.filter((vector) => !vector.expect.valid)
const signable = vectors.filter((vector) => parseHttpDate(vector.timestamp) !== undefined)

const bodyOf = (vector: Vector) => Buffer.from(vector.bodyBase64, 'base64')
const rightAuthorization = (vector: Vector) => `HMAC-SHA256 Signature=${vector.hmacBase64}`

test('there are vectors of both kinds, each with a name of its own', () => {
  expect(accepted.length).toBeGreaterThan(25)
  expect(refused.length).toBeGreaterThan(25)
  expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length)
})

test('every vector but those about the timestamp can be signed', () => {
  const unsignable = vectors.filter((vector) => !signable.includes(vector))
  expect(unsignable.map((vector) => vector.expect)).toEqual(
    unsignable.map(() => ({ valid: false, code: 'ERR_TIMESTAMP_MALFORMED' })),
  )
})

describe.each(vectors)('vector $name: $why', (vector) => {
  test('the key is the UTF-8 bytes of the secret', () => {
    expect(Buffer.from(vector.secret, 'utf8').toString('hex')).toBe(vector.keyHex)
  })

  test('the text of the body is the text of its bytes', () => {
    const decode = () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bodyOf(vector))
    if (vector.bodyText === null) expect(decode).toThrow()
    else expect(decode()).toBe(vector.bodyText)
  })

  test('the callback URL is spelled as it should be subscribed', () => {
    expect(callbackUrlProblem(vector.callbackUrl)).toBeUndefined()
  })

  test('the string to sign is that of openssl', () => {
    const { pathAndQuery, timestamp, host, bodySha256Base64 } = vector
    expect(stringToSign({ ...vector, body: bodyOf(vector) })).toBe(vector.stringToSign)
    expect(vector.stringToSign).toBe(`${pathAndQuery}\n${timestamp};${host};${bodySha256Base64}`)
  })

  test('verifies as expected', () => {
    const { expect: verdict } = vector
    expect(verifyCallback({ ...vector, body: bodyOf(vector) })).toEqual(
      verdict.valid ? { valid: true, signedAt: new Date(verdict.signedAt) } : verdict,
    )
  })
})

test.each(signable)('signs as openssl does: $name', (vector) => {
  expect(signCallback({ ...vector, body: bodyOf(vector) })).toBe(rightAuthorization(vector))
})

test.each(signable.filter(({ bodyText }) => bodyText !== null))(
  'signs a text as its UTF-8 bytes: $name',
  (vector) => {
    expect(signCallback({ ...vector, body: vector.bodyText as string })).toBe(rightAuthorization(vector))
  },
)

test.each(signable)('the right signature is accepted: $name', (vector) => {
  const authorization = rightAuthorization(vector)
  expect(verifyCallback({ ...vector, authorization, body: bodyOf(vector) })).toMatchObject({ valid: true })
})

test.each(refused.filter((vector) => !signable.includes(vector)))(
  'a malformed timestamp is refused even where it is rightly signed: $name',
  (vector) => {
    expect(vector.authorization).toBe(rightAuthorization(vector))
  },
)
