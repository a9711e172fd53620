import { CountersignError } from '../../src/base/errors.js'
import { signCallback, stringToSign, type SignInput } from '../../src/signature/index.js'
import { genuine, signedAt } from './genuine.js'

/** Signs the genuine callback with some of its fields replaced, by values of any type. */
function sign(changes: { readonly [Field in keyof SignInput]?: unknown } = {}): string {
  return signCallback({ ...genuine, ...changes } as SignInput)
}

function thrown(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

test('makes the header that the service sends', () => {
  expect(sign()).toBe(genuine.authorization)
})

test('takes a Date for the timestamp', () => {
  expect(sign({ timestamp: signedAt })).toBe(genuine.authorization)
})

test('leaves the milliseconds of a Date out, as an HTTP date has none', () => {
  expect(sign({ timestamp: new Date(signedAt.getTime() + 999) })).toBe(genuine.authorization)
})

test('signs the text of a timestamp, not its instant', () => {
  expect(sign({ timestamp: 'Tuesday, 03-Nov-26 09:14:27 GMT' })).not.toBe(genuine.authorization)
})

test('takes a text for its UTF-8 bytes', () => {
  expect(sign({ body: 'Zürich' })).toBe(sign({ body: Buffer.from('5ac3bc72696368', 'hex') }))
})

test('signs the path, query and host of the callback URL', () => {
  const callbackUrl = 'https://partner.example.com:8443/hooks?tenant=7'
  expect(stringToSign({ ...genuine, callbackUrl })).toBe(
    '/hooks?tenant=7\nTue, 03 Nov 2026 09:14:27 GMT;partner.example.com:8443;TVL+vuh+05qr8NWZrdhYcqbNh4psiKZYH/TCC0wFgjU=',
  )
})

test.each([
  ['the port that is the default', 'https://partner.example.com:443/hooks/transfers'],
  ['a fragment', 'https://partner.example.com/hooks/transfers#fragment'],
  ['user info', 'https://user:pass@partner.example.com/hooks/transfers'],
  ['the case of the host', 'https://PARTNER.example.com/hooks/transfers'],
  ['an empty query', 'https://partner.example.com/hooks/transfers?'],
])('does not sign %s', (_, callbackUrl) => {
  expect(sign({ callbackUrl })).toBe(genuine.authorization)
})

test('signs the path / where the URL has none', () => {
  const callbackUrl = 'https://partner.example.com'
  expect(stringToSign({ ...genuine, callbackUrl })).toMatch(/^\/\n/)
})

const noPrototype: unknown = Object.create(null)

test.each<[string, string, { readonly [Field in keyof SignInput]?: unknown }]>([
  ['ERR_CALLBACK_URL_INVALID', 'a callback URL that is a path', { callbackUrl: '/hooks/transfers' }],
  [
    'ERR_CALLBACK_URL_INVALID',
    'a callback URL of another scheme',
    { callbackUrl: 'ftp://partner.example.com/' },
  ],
  ['ERR_CALLBACK_URL_INVALID', 'no callback URL', { callbackUrl: undefined }],
  ['ERR_CALLBACK_URL_INVALID', 'an object for a callback URL', { callbackUrl: noPrototype }],
  ['ERR_SECRET_INVALID', 'no secret', { secret: undefined }],
  ['ERR_SECRET_INVALID', 'an empty secret', { secret: '' }],
  [
    'ERR_SECRET_INVALID',
    'a list of secrets, of which none is the one to sign with',
    { secret: [genuine.secret] },
  ],
  ['ERR_SECRET_INVALID', 'bytes for a secret', { secret: Buffer.from(genuine.secret) }],
  ['ERR_SECRET_INVALID', 'half of a surrogate pair in the secret', { secret: `${genuine.secret}\udc00` }],
  ['ERR_TIMESTAMP_MALFORMED', 'no timestamp', { timestamp: undefined }],
  ['ERR_TIMESTAMP_MALFORMED', 'an invalid Date', { timestamp: new Date(NaN) }],
  ['ERR_TIMESTAMP_MALFORMED', 'a Date after the year 9999', { timestamp: new Date(Date.UTC(10_000, 0)) }],
  ['ERR_TIMESTAMP_MALFORMED', 'a Date before the year 0', { timestamp: new Date(Date.UTC(-1, 0)) }],
  ['ERR_TIMESTAMP_MALFORMED', 'a timestamp in ISO 8601', { timestamp: signedAt.toISOString() }],
  ['ERR_TIMESTAMP_MALFORMED', 'a number for a timestamp', { timestamp: signedAt.getTime() }],
  ['ERR_TIMESTAMP_MALFORMED', 'a symbol for a timestamp', { timestamp: Symbol('now') }],
  ['ERR_TIMESTAMP_MALFORMED', 'an object for a timestamp', { timestamp: noPrototype }],
  ['ERR_TIMESTAMP_MALFORMED', 'a newline in the timestamp', { timestamp: `${genuine.timestamp}\n` }],
  ['ERR_BODY_NOT_BYTES', 'no body', { body: undefined }],
  ['ERR_BODY_NOT_BYTES', 'a parsed body', { body: { Id: '64b87e81' } }],
  ['ERR_BODY_NOT_BYTES', 'a list of numbers for a body', { body: [1, 2] }],
  ['ERR_BODY_NOT_BYTES', 'an array of wider numbers for a body', { body: new Uint16Array(2) }],
])('throws %s for %s', (code, _, changes) => {
  const error = thrown(() => sign(changes))
  expect(error).toBeInstanceOf(CountersignError)
  expect(error).toMatchObject({ code })
  expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain(genuine.secret)
})
