import { redactor } from '../../src/cli/redact.js'

const SIGNATURE = 'aPOXZbrEc39NJy97x8eLiSd+j7Bwoy1RQ4X+M5jB6PU='

describe('redactor', () => {
  it.each([
    ['as it is', 'a "secret" (text)\\$&'],
    ['with letters beyond ASCII', 'geheim-äöü'],
  ])('hides a secret %s, wherever it stands in a line of JSON', (_how, secret) => {
    const redact = redactor([secret])
    const line = JSON.stringify({ msg: `it is ${secret}!`, nested: { list: [secret] } })
    expect(redact(line)).toBe('{"msg":"it is [hidden]!","nested":{"list":["[hidden]"]}}')
  })

  it('hides the Base64 of a secret', () => {
    expect(redactor(['a secret text'])(`"${Buffer.from('a secret text').toString('base64')}"`)).toBe(
      '"[hidden]"',
    )
  })

  it.each(['base64url', 'hex'] as const)('hides a secret as %s', (encoding) => {
    const encoded = Buffer.from('a secret~text??>').toString(encoding)
    expect(redactor(['a secret~text??>'])(`{"a":"${encoded}"}`)).toBe('{"a":"[hidden]"}')
    expect(redactor(['a secret~text??>'])(encoded.toUpperCase())).toBe('[hidden]')
  })

  it('hides a secret in another letter case beside a letter whose lower case is longer', () => {
    expect(redactor(['Secret-Text'])('\u0130 SECRET-TEXT \u0130')).toBe('\u0130 [hidden] \u0130')
  })

  it('hides a secret in text that is not JSON', () => {
    expect(redactor(['a "secret"'])('it is a "secret"!')).toBe('it is [hidden]!')
  })

  it('hides a secret as forms and addresses encode it', () => {
    const [secret, redact] = ['tilde~and space', redactor(['tilde~and space'])]
    expect(redact(`secret=${encodeURIComponent(secret)}`)).toBe('secret=[hidden]')
    expect(redact(new URLSearchParams({ secret }).toString())).toBe('secret=[hidden]')
  })

  it('hides the longer of two secrets whole when one begins with the other', () => {
    expect(redactor(['secret', 'secret-two'])('secret-two')).toBe('[hidden]')
  })

  it.each([
    [`HMAC-SHA256 Signature=${SIGNATURE}`, 'HMAC-SHA256 Signature=[hidden]'],
    ['Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc_-~+/=', 'Bearer [hidden]'],
    ['Basic dXNlcjpwYXNzd29yZA==', 'Basic [hidden]'],
  ])('hides the credentials in %s', (credentials, hidden) => {
    expect(redactor([])(`{"msg":"sent ${credentials}, refused"}`)).toBe(`{"msg":"sent ${hidden}, refused"}`)
  })

  it.each([
    '{"msg":"callback handled","outcome":"handled"}',
    '{"msg":"Basic set-up of the bearer plan"}',
    `{"bodyHash":"${SIGNATURE}"}`,
  ])('leaves alone what is neither: %s', (line) => {
    expect(redactor(['a secret text'])(line)).toBe(line)
  })

  it('hides a secret in another letter case', () => {
    expect(redactor(['Secret-Text'])('{"msg":"SECRET-TEXT secret-text"}')).toBe('{"msg":"[hidden] [hidden]"}')
  })

  describe('of a secret of a few characters', () => {
    const line = (fields: object) =>
      `${JSON.stringify({ level: 'info', time: 't', ...fields, msg: 'it is x7' })}\n`

    it('hides every occurrence, and the line stays JSON', () => {
      const redacted = redactor(['x7'])(line({ x7: ['X7', { a: 'a-x7-b' }], list: ['\n"x7\\'] }))
      expect(redacted.toLowerCase()).not.toContain('x7')
      expect(redacted).toMatch(/\}\n$/)
      expect(JSON.parse(redacted)).toEqual({
        level: 'info',
        time: 't',
        '[hidden]': ['[hidden]', { a: 'a-[hidden]-b' }],
        list: ['\n"[hidden]\\'],
        msg: 'it is [hidden]',
      })
    })

    it('hides a number that holds it', () => {
      expect(JSON.parse(redactor(['42'])(line({ amount: 14_250, attempt: 1 })))).toMatchObject({
        amount: '[hidden]',
        attempt: 1,
      })
    })

    it('hides a number that is a longer one', () => {
      expect(JSON.parse(redactor(['123456789'])(line({ amount: 123_456_789 })))).toMatchObject({
        amount: '[hidden]',
      })
    })

    it('hides the whole word, as what is left of it would tell', () => {
      expect(JSON.parse(redactor(['i'])(line({ reason: 'a timeout' })))).toMatchObject({
        level: 'info',
        reason: 'a [hidden]',
        msg: '[hidden] [hidden] x7',
      })
    })

    it('hides it in text that is not JSON, and beside a longer one', () => {
      expect(redactor(['x7', 'long-x7-long'])('x7 and long-x7-long')).toBe('[hidden] and [hidden]')
    })
  })

  it('takes an empty text for no secret', () => {
    expect(redactor([''])('{"a":"a"}')).toBe('{"a":"a"}')
  })
})
