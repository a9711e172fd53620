import { signCallback } from '../../src/signature/index.js'
import { genuine, refused, signedAt, verify } from './genuine.js'

const signature = genuine.authorization.slice(-44)
const accepted = { valid: true, signedAt }

describe('accepts', () => {
  test('a genuine callback, and says when it was signed', () => {
    expect(verify()).toEqual(accepted)
  })

  test('a body that is a plain Uint8Array', () => {
    expect(verify({ body: new Uint8Array(genuine.body) })).toEqual(accepted)
  })

  test('a body that is a part of a larger buffer', () => {
    const larger = Buffer.concat([Buffer.from('before'), genuine.body, Buffer.from('after')])
    expect(verify({ body: larger.subarray(6, -5) })).toEqual(accepted)
  })

  test('headers that come as lists of one', () => {
    const { authorization, timestamp } = genuine
    expect(verify({ authorization: [authorization], timestamp: [timestamp] })).toEqual(accepted)
  })

  test.each(['hmac-sha256', 'Hmac-Sha256', 'HMAC-SHA256'])('the scheme spelled %s', (scheme) => {
    expect(verify({ authorization: `${scheme} Signature=${signature}` })).toEqual(accepted)
  })

  test('the first secret of a list', () => {
    expect(verify({ secret: [genuine.secret, 'previous'] })).toEqual(accepted)
  })

  test('the last secret of a list', () => {
    expect(verify({ secret: ['next', 'previous', genuine.secret] })).toEqual(accepted)
  })

  test('any spelling of the callback URL that the parser takes for the same', () => {
    const callbackUrl = 'HTTPS://user:pass@PARTNER.example.com:443/x/../hooks/transfers#fragment'
    expect(verify({ callbackUrl })).toEqual(accepted)
  })

  test('http where https was signed, as the scheme is not part of what is signed', () => {
    expect(verify({ callbackUrl: 'http://partner.example.com/hooks/transfers' })).toEqual(accepted)
  })

  test('a callback of any age, as tolerance is not its concern', () => {
    const timestamp = 'Sun, 06 Nov 1994 08:49:37 GMT'
    const authorization = signCallback({ ...genuine, timestamp })
    expect(verify({ timestamp, authorization })).toEqual({
      valid: true,
      signedAt: new Date('1994-11-06T08:49:37Z'),
    })
  })
})

describe('refuses an Authorization header', () => {
  test.each([
    ['that is absent', undefined],
    ['that is an empty list', []],
  ])('%s', (_, authorization) => {
    expect(verify({ authorization })).toEqual(refused('ERR_AUTHORIZATION_MISSING'))
  })

  test('that is repeated', () => {
    const authorization = [genuine.authorization, 'Bearer token']
    expect(verify({ authorization })).toEqual(refused('ERR_AUTHORIZATION_REPEATED'))
  })

  test('that is repeated with the same value', () => {
    const authorization = [genuine.authorization, genuine.authorization]
    expect(verify({ authorization })).toEqual(refused('ERR_AUTHORIZATION_REPEATED'))
  })

  test.each([
    ['that is empty', ''],
    ['that is an empty text in a list', ['']],
    ['that is the scheme alone', 'HMAC-SHA256'],
    ['without a signature', 'HMAC-SHA256 Signature='],
    ['without a scheme', `Signature=${signature}`],
    ['that is the signature alone', signature],
    ['of another scheme', `Bearer Signature=${signature}`],
    ['of a scheme that only begins alike', `HMAC-SHA2560 Signature=${signature}`],
    ['of a scheme that only ends alike', `X-HMAC-SHA256 Signature=${signature}`],
    ['whose scheme folds to the right one in Unicode only', `HMAC-\u017fHA256 Signature=${signature}`],
    ['with two spaces after the scheme', `HMAC-SHA256  Signature=${signature}`],
    ['with a tab after the scheme', `HMAC-SHA256\tSignature=${signature}`],
    ['with a no-break space after the scheme', `HMAC-SHA256\u00a0Signature=${signature}`],
    ['with a newline after the scheme', `HMAC-SHA256\nSignature=${signature}`],
    ['without a space after the scheme', `HMAC-SHA256Signature=${signature}`],
    ['with a space before it', ` ${genuine.authorization}`],
    ['with a space after it', `${genuine.authorization} `],
    ['with a newline after it', `${genuine.authorization}\n`],
    ['with a NUL after it', `${genuine.authorization}\0`],
    ['with a space after the equals sign', `HMAC-SHA256 Signature= ${signature}`],
    ['with a space before the equals sign', `HMAC-SHA256 Signature =${signature}`],
    ['whose parameter is in lower case', `HMAC-SHA256 signature=${signature}`],
    ['whose parameter has another name', `HMAC-SHA256 Credential=${signature}`],
    ['with quotes around the signature', `HMAC-SHA256 Signature="${signature}"`],
    ['with another parameter after the signature', `${genuine.authorization}, keyId=1`],
    ['with another parameter before the signature', `HMAC-SHA256 keyId=1, Signature=${signature}`],
    ['with two signatures', `${genuine.authorization}, ${genuine.authorization}`],
    ['with a text before the header', `x${genuine.authorization}`],
  ])('%s', (_, authorization) => {
    expect(verify({ authorization })).toEqual(refused('ERR_AUTHORIZATION_MALFORMED'))
  })
})

describe('refuses a signature', () => {
  const bytes = Buffer.from(signature, 'base64')

  test.each([
    ['in hex', bytes.toString('hex')],
    ['in the URL-safe alphabet', signature.replaceAll('+', '-').replaceAll('/', '_')],
    ['without padding', signature.slice(0, -1)],
    ['with padding to spare', `${signature}=`],
    ['with padding in the place of its last letter', `${signature.slice(0, -2)}==`],
    ['of 31 bytes', bytes.subarray(1).toString('base64')],
    ['of 33 bytes, which are 44 characters too', Buffer.concat([bytes, Buffer.of(0)]).toString('base64')],
    ['of 64 bytes', Buffer.concat([bytes, bytes]).toString('base64')],
    ['with a space within', `${signature.slice(0, 20)} ${signature.slice(21)}`],
    ['with a newline within', `${signature.slice(0, 20)}\n${signature.slice(21)}`],
    ['with its padding escaped', `${signature.slice(0, -1)}%3D`],
    ['with a letter that is not ASCII', `\u00e9${signature.slice(1)}`],
    ['with a letter that is ASCII in its low byte only', `\u0133${signature.slice(1)}`],
  ])('%s', (_, other) => {
    expect(verify({ authorization: `HMAC-SHA256 Signature=${other}` })).toEqual(
      refused('ERR_AUTHORIZATION_MALFORMED'),
    )
  })

  test('in each of the three other spellings of the same bytes', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const spellings = alphabet
      .split('')
      .map((last) => `${signature.slice(0, 42)}${last}=`)
      .filter((text) => text !== signature && Buffer.from(text, 'base64').equals(bytes))
    expect(spellings).toHaveLength(3)
    expect(spellings.map((text) => verify({ authorization: `HMAC-SHA256 Signature=${text}` }))).toEqual(
      spellings.map(() => refused('ERR_AUTHORIZATION_MALFORMED')),
    )
  })

  test('that is made with none of the secrets', () => {
    expect(verify({ secret: ['next', 'previous'] })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
  })

  test('that is made with the Base64 of the secret', () => {
    const secret = Buffer.from(genuine.secret).toString('base64')
    const authorization = signCallback({ ...genuine, secret })
    expect(verify({ authorization })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
  })

  test('of another body', () => {
    expect(verify({ body: Buffer.from('{"Id": "other"}') })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
  })

  test('of the same body without its last byte', () => {
    expect(verify({ body: genuine.body.subarray(0, -1) })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
  })

  test('of another timestamp', () => {
    const timestamp = 'Tue, 03 Nov 2026 09:14:28 GMT'
    expect(verify({ timestamp })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
  })

  test('of the same instant in another form', () => {
    const timestamp = 'Tue Nov  3 09:14:27 2026'
    expect(verify({ timestamp })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
  })

  test.each([
    ['path', 'https://partner.example.com/hooks/accounts'],
    ['query', 'https://partner.example.com/hooks/transfers?tenant=7'],
    ['host', 'https://attacker.example/hooks/transfers'],
    ['port', 'https://partner.example.com:8443/hooks/transfers'],
  ])('for another %s', (_, callbackUrl) => {
    expect(verify({ callbackUrl })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
  })
})

describe('refuses an Authorization-Timestamp header', () => {
  test.each([
    ['that is absent', undefined],
    ['that is an empty list', []],
  ])('%s', (_, timestamp) => {
    expect(verify({ timestamp })).toEqual(refused('ERR_TIMESTAMP_MISSING'))
  })

  test('that is repeated', () => {
    const timestamp = [genuine.timestamp, 'Tue, 03 Nov 2026 09:14:28 GMT']
    expect(verify({ timestamp })).toEqual(refused('ERR_TIMESTAMP_REPEATED'))
  })

  test('that is repeated with the same value', () => {
    expect(verify({ timestamp: [genuine.timestamp, genuine.timestamp] })).toEqual(
      refused('ERR_TIMESTAMP_REPEATED'),
    )
  })

  test.each([
    ['that is empty', ''],
    ['that is no HTTP date', '2026-11-03T09:14:27Z'],
    ['with a space before it', ` ${genuine.timestamp}`],
    ['with a newline after it', `${genuine.timestamp}\n`],
    ['with a semicolon and a host after it', `${genuine.timestamp};partner.example.com`],
    ['with two values joined to one', `${genuine.timestamp}, ${genuine.timestamp}`],
  ])('%s', (_, timestamp) => {
    expect(verify({ timestamp })).toEqual(refused('ERR_TIMESTAMP_MALFORMED'))
  })
})

describe('refuses a set-up that cannot be meant', () => {
  test.each([
    ['absent', undefined],
    ['null', null],
    ['a URL object', new URL(genuine.callbackUrl)],
    ['empty', ''],
    ['a path', '/hooks/transfers'],
    ['a host', 'partner.example.com/hooks/transfers'],
    ['of another scheme', 'ftp://partner.example.com/hooks/transfers'],
    ['a script', 'javascript:alert(1)'],
  ])('a callback URL that is %s', (_, callbackUrl) => {
    expect(verify({ callbackUrl })).toEqual(refused('ERR_CALLBACK_URL_INVALID'))
  })

  test.each([
    ['absent', undefined],
    ['null', null],
    ['empty', ''],
    ['bytes', Buffer.from(genuine.secret)],
    ['half of a surrogate pair, which has no UTF-8 bytes', 'secret-\ud83d'],
    ['an empty list', []],
    ['a list of a hole', Array(1)],
    ['a list in a list', [[genuine.secret]]],
  ])('a secret that is %s', (_, secret) => {
    expect(verify({ secret })).toEqual(refused('ERR_SECRET_INVALID'))
  })

  test.each([
    ['first', ['', genuine.secret]],
    ['last', [genuine.secret, '']],
    ['absent', [genuine.secret, undefined]],
    ['a hole', Object.assign([genuine.secret], { 2: genuine.secret })],
  ])('a list of secrets in which an empty one is %s', (_, secret) => {
    expect(verify({ secret })).toEqual(refused('ERR_SECRET_INVALID'))
  })

  test.each([
    ['absent', undefined],
    ['null', null],
    ['a text', genuine.body.toString()],
    ['parsed already', JSON.parse(genuine.body.toString())],
    ['a list of numbers', [...genuine.body]],
    ['an ArrayBuffer', new Uint8Array(genuine.body).buffer],
    ['a DataView', new DataView(new Uint8Array(genuine.body).buffer)],
    ['an array of wider numbers', new Uint16Array(new Uint8Array(genuine.body).buffer)],
    ['an object that claims to be bytes', Object.create(Uint8Array.prototype)],
    ['a Buffer that went through JSON', genuine.body.toJSON()],
  ])('a body that is %s', (_, body) => {
    expect(verify({ body })).toEqual(refused('ERR_BODY_NOT_BYTES'))
  })
})

describe('looks at', () => {
  const nothing = { authorization: undefined, timestamp: undefined, callbackUrl: '', secret: '', body: '' }

  test('the Authorization header before all else', () => {
    expect(verify(nothing)).toEqual(refused('ERR_AUTHORIZATION_MISSING'))
  })

  test('the form of the Authorization header before the timestamp', () => {
    expect(verify({ ...nothing, authorization: 'Bearer token' })).toEqual(
      refused('ERR_AUTHORIZATION_MALFORMED'),
    )
  })

  test('the timestamp before URL, secret and body', () => {
    const { authorization } = genuine
    expect(verify({ ...nothing, authorization })).toEqual(refused('ERR_TIMESTAMP_MISSING'))
  })

  test('the form of the timestamp before URL, secret and body', () => {
    const { authorization } = genuine
    expect(verify({ ...nothing, authorization, timestamp: 'now' })).toEqual(
      refused('ERR_TIMESTAMP_MALFORMED'),
    )
  })
})

test('changes none of what it is given', () => {
  const body = new Uint8Array(genuine.body)
  const input = Object.freeze({ ...genuine, body, secret: Object.freeze(['next', genuine.secret]) })
  expect(verify(input)).toEqual(accepted)
  expect(Buffer.from(body)).toEqual(genuine.body)
})
