import { textMask } from '../../src/base/mask-texts.js'

const SECRET = 'Zq7~Client_Secret-0123.abc'
const UNUSUAL = 'a "secret" with\\ äöü & more'
const reversedCase = (text: string) =>
  text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
const percentEncoded = (text: string) =>
  Buffer.from(text)
    .toString('hex')
    .replaceAll(/../g, (digits) => `%${digits}`)
const unicodeEscaped = (text: string) =>
  Array.from(text)
    .map((each) => String.raw`\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

const FORMS: [string, (secret: string) => string][] = [
  ['as it is', (secret) => secret],
  ['in upper case', (secret) => secret.toUpperCase()],
  ['in lower case', (secret) => secret.toLowerCase()],
  ['in the other case', reversedCase],
  ['in JSON', (secret) => JSON.stringify({ secret })],
  ['in JSON in JSON', (secret) => JSON.stringify(JSON.stringify({ secret }))],
  ['in a form', (secret) => new URLSearchParams({ secret }).toString()],
  ['in an address', (secret) => `https://x/?a=${encodeURIComponent(secret)}`],
  ['percent-encoded whole', percentEncoded],
  ['percent-encoded twice', (secret) => encodeURIComponent(percentEncoded(secret))],
  ['in Base64', (secret) => btoa(unescape(encodeURIComponent(secret)))],
  ['in Base64, URL-safe', (secret) => Buffer.from(secret).toString('base64url')],
  ['in Base64 in another case', (secret) => Buffer.from(reversedCase(secret)).toString('base64')],
  ['in Base64 behind one other byte', (secret) => Buffer.from(`:${secret}`).toString('base64')],
  ['in Base64 behind two other bytes', (secret) => Buffer.from(`id:${secret}:x`).toString('base64')],
  ['in hexadecimal digits', (secret) => Buffer.from(secret).toString('hex')],
  ['in upper-case hexadecimal digits', (secret) => Buffer.from(secret).toString('hex').toUpperCase()],
  ['between other letters', (secret) => `xx${secret}yy`],
]

describe.each([SECRET, UNUSUAL])('the secret %j', (secret) => {
  it.each(FORMS)('is not shown %s', (_how, form) => {
    const text = textMask([secret])(`before ${form(secret)} after`)
    expect(text).toMatch(/^before .*….* after$/)
    expect(text).not.toContain(form(secret))
  })
})

it.each([
  ['escaped for JavaScript', unicodeEscaped],
  [
    'as references of HTML',
    (secret: string) =>
      Array.from(secret)
        .map((each) => `&#${each.charCodeAt(0)};`)
        .join(''),
  ],
  [
    'as hexadecimal references of HTML',
    (secret: string) =>
      Array.from(secret)
        .map((each) => `&#x${each.charCodeAt(0).toString(16)};`)
        .join(''),
  ],
  ['partly percent-encoded', (secret: string) => secret.replace('C', '%43')],
])('a secret is not shown %s', (_how, form) => {
  expect(textMask([SECRET])(`before ${form(SECRET)} after`)).toBe('before … after')
})

describe('a secret of a few characters', () => {
  it.each(['a', 'x1', 'abc', 'a1-b2', 'Q~.'])('is not shown: %s', (secret) => {
    for (const [, form] of FORMS.slice(0, 4)) {
      const text = textMask([secret])(`it is ${form(secret)}, and ${form(secret)}.`)
      expect(text.toLowerCase()).not.toContain(secret.toLowerCase())
    }
  })

  it('takes the whole word with it, which would give it away', () => {
    expect(textMask(['nf'])('some info of confidence, and more')).toBe('some … of …, and more')
  })

  it('does not break up a longer one', () => {
    expect(textMask(['ab', 'xxab-yyyyyy'])('xxab-yyyyyy')).toBe('…')
  })

  it('leaves the mark alone', () => {
    expect(textMask(['hi', 'd'], '[hidden]')('hi')).toBe('[hidden]')
  })
})

it('leaves alone what holds no secret', () => {
  const text = 'POST https://api.bank.example/a%20b?c=\\d&e was answered {"id":"dGhlIG90aGVyIHRleHQ="}'
  expect(textMask([SECRET, UNUSUAL])(text)).toBe(text)
  expect(textMask([''])(text)).toBe(text)
  expect(textMask([])(text)).toBe(text)
})

it('takes the longer of two secrets whole where one begins with the other', () => {
  expect(textMask(['secret', 'secret-two'])('secret-two')).toBe('…')
})

it('masks letters that are the same in upper case only', () => {
  expect(textMask(['secret-µ'])('it is SECRET-μ.')).toBe('it is ….')
})

it('compiles no pattern of secrets that the text does not hold', () => {
  const patterns = jest.spyOn(globalThis, 'RegExp')
  try {
    const mask = textMask(Array.from({ length: 2_000 }, (_, index) => `secret of tenant ${index}.`))
    expect(mask('no secret')).toBe('no secret')
    expect(patterns).not.toHaveBeenCalled()
    expect(mask('secret of tenant 7.')).toBe('…')
    expect(patterns).toHaveBeenCalledTimes(1)
    expect(patterns.mock.calls[0]![0].toString().length).toBeLessThan(100)
  } finally {
    patterns.mockRestore()
  }
})

// Each of these is one run or word for one of the steps.
it.each(['x', 'A', '%', '\\', '%4', '&#', '&', '4'])('reads 200 kB of %j once', (unit) => {
  const mask = textMask([SECRET, 'ab'])
  const [short, long] = [2_000, 200_000].map((size) => unit.repeat(size / unit.length))
  const spent = (text: string) => {
    const start = process.cpuUsage()
    mask(text)
    return process.cpuUsage(start).user
  }
  spent(short!)
  // A hundred times as much; a step that is quadratic takes ten thousand times as long.
  expect(spent(long!)).toBeLessThan(2_000 * Math.max(spent(short!), 1_000))
})
