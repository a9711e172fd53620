import fc from 'fast-check'
import { signCallback, stringToSign } from '../../src/signature/index.js'
import { parseHttpDate } from '../../src/signature/timestamp.js'
import { genuine, refused, verify } from './genuine.js'
import { timestamps } from './http-date-arbitraries.js'
import { readHttpDate, spellings } from './http-date-oracle.js'
import { anyText } from '../support/any-text.js'

const secrets = anyText({ minLength: 1, maxLength: 100 })
const bodies = fc.uint8Array({ maxLength: 300 })

const word = fc.stringMatching(/^[A-Za-z0-9_~-]{1,8}$/)
const segment = fc.oneof(
  fc.constant(''),
  word,
  fc.constantFrom('%2F', 'a;b', 'x:y@z', 'caf%C3%A9', '...', 'a.b', '+'),
)
const domain = fc.stringMatching(/^[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,5})?$/).map((label) => `${label}.example`)
const urls = fc.record({
  scheme: fc.constantFrom('https', 'http'),
  host: fc
    .tuple(
      fc.oneof(domain, fc.ipV4(), fc.constant('[2001:db8::1]')),
      fc.option(fc.integer({ min: 1024, max: 65535 })),
    )
    .map(([name, port]) => (port === null ? name : `${name}:${port}`)),
  path: fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => `/${segments.join('/')}`),
  query: fc.option(word.map((value) => `?q=${value}&next=/?;`)).map((query) => query ?? ''),
})
type Url = Readonly<Record<'scheme' | 'host' | 'path' | 'query', string>>
const spell = ({ scheme, host, path, query }: Url) => `${scheme}://${host}${path}${query}`

/** A callback to be signed, its URL still in parts. */
const callbacks = fc.record({ url: urls, secret: secrets, timestamp: timestamps, body: bodies })
const signedCallbacks = callbacks.map(({ url, ...rest }) => {
  const input = { ...rest, callbackUrl: spell(url) }
  return { ...input, authorization: signCallback(input) }
})

describe('whatever is signed', () => {
  test('verifies, and tells when it was signed', () => {
    fc.assert(
      fc.property(signedCallbacks, (callback) => {
        const signedAt = new Date(readHttpDate(callback.timestamp) as number)
        expect(verify(callback)).toEqual({ valid: true, signedAt })
      }),
    )
  })

  test('verifies with its secret anywhere in a list', () => {
    fc.assert(
      fc.property(signedCallbacks, fc.array(secrets), fc.array(secrets), (callback, before, after) => {
        expect(verify({ ...callback, secret: [...before, callback.secret, ...after] })).toMatchObject({
          valid: true,
        })
      }),
    )
  })

  test('has the string to sign of its parts', () => {
    fc.assert(
      fc.property(callbacks, ({ url, timestamp, body }) => {
        const [pathAndQuery, rest] = stringToSign({ callbackUrl: spell(url), timestamp, body }).split('\n')
        expect(pathAndQuery).toBe(url.path + url.query)
        expect(rest?.slice(0, -44)).toBe(`${timestamp};${url.host};`)
      }),
    )
  })

  test('is refused with any one bit of its body changed', () => {
    fc.assert(
      fc.property(signedCallbacks, fc.nat(), (callback, at) => {
        fc.pre(callback.body.length > 0)
        const body = flipped(callback.body, at)
        expect(verify({ ...callback, body })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
      }),
    )
  })

  test('is refused with bytes added to its body', () => {
    fc.assert(
      fc.property(
        signedCallbacks,
        fc.uint8Array({ minLength: 1 }),
        fc.boolean(),
        (callback, more, before) => {
          const body = Buffer.concat(before ? [more, callback.body] : [callback.body, more])
          expect(verify({ ...callback, body })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
        },
      ),
    )
  })

  test('is refused with another timestamp', () => {
    fc.assert(
      fc.property(signedCallbacks, timestamps, (callback, timestamp) => {
        fc.pre(timestamp !== callback.timestamp)
        expect(verify({ ...callback, timestamp })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
      }),
    )
  })

  test('is refused with its timestamp in another form', () => {
    fc.assert(
      fc.property(signedCallbacks, (callback) => {
        const others = spellings(parseHttpDate(callback.timestamp) as number).filter(
          (text) => text !== callback.timestamp,
        )
        const verdicts = others.map((timestamp) => verify({ ...callback, timestamp }))
        expect(verdicts).toEqual(others.map(() => refused('ERR_SIGNATURE_MISMATCH')))
      }),
    )
  })

  test('is refused for another path, query or host', () => {
    const part = fc.constantFrom('host' as const, 'path' as const, 'query' as const)
    fc.assert(
      fc.property(callbacks, urls, part, ({ url, ...callback }, other, name) => {
        fc.pre(url[name] !== other[name])
        const authorization = signCallback({ ...callback, callbackUrl: spell(url) })
        const callbackUrl = spell({ ...url, [name]: other[name] })
        expect(verify({ ...callback, authorization, callbackUrl })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
      }),
    )
  })

  test('is refused for another secret', () => {
    fc.assert(
      fc.property(signedCallbacks, secrets, (callback, secret) => {
        fc.pre(hmacBlock(secret) !== hmacBlock(callback.secret))
        expect(verify({ ...callback, secret })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
      }),
    )
  })
})

describe('a signature', () => {
  const prefix = 'HMAC-SHA256 Signature='
  const right = Buffer.from(genuine.authorization.slice(prefix.length), 'base64')

  test('with any one of its 256 bits changed is refused', () => {
    for (let bit = 0; bit < 256; bit++) {
      const authorization = prefix + Buffer.from(flipped(right, bit)).toString('base64')
      expect(verify({ authorization })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
    }
  })

  test('with any one character of the header replaced is refused, but for the case of the scheme', () => {
    const scheme = 'HMAC-SHA256'
    for (let at = 0; at < genuine.authorization.length; at++) {
      for (let code = 0; code < 0x250; code++) {
        const authorization =
          genuine.authorization.slice(0, at) + String.fromCharCode(code) + genuine.authorization.slice(at + 1)
        const otherCase =
          /^[\x20-\x7e]*$/.test(authorization) && authorization.slice(0, 11).toUpperCase() === scheme
        const same = otherCase && authorization.slice(11) === genuine.authorization.slice(11)
        if (verify({ authorization }).valid !== same)
          throw new Error(`wrong verdict: ${JSON.stringify(authorization)}`)
      }
    }
  })

  test('is only ever accepted in one spelling', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary-ascii', maxLength: 8 }),
        fc.nat(44),
        fc.nat(44),
        (text, from, to) => {
          const signature = genuine.authorization.slice(prefix.length)
          const other = signature.slice(0, from) + text + signature.slice(to)
          fc.pre(other !== signature)
          expect(verify({ authorization: prefix + other }).valid).toBe(false)
        },
      ),
    )
  })
})

function flipped(bytes: Uint8Array, position: number): Uint8Array {
  const bit = position % (bytes.length * 8)
  return bytes.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
}

/** HMAC pads its key with zero bytes, so "a" and "a\0" are one key (RFC 2104). */
function hmacBlock(secret: string): string {
  return secret.replace(/\0+$/, '')
}
