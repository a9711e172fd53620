import fc from 'fast-check'
import { KnownSecrets } from '../../src/logging/known-secrets.js'

const SECRET = 's3cret~Text-with_dots.and-dashes'

function knowing(...secrets: string[]): KnownSecrets {
  const known = new KnownSecrets()
  known.add([{ secret: secrets }])
  return known
}

describe('KnownSecrets', () => {
  it.each([
    ['as it is', SECRET],
    ['as the secretText that is sent', Buffer.from(SECRET).toString('base64')],
    ['as Base64 without padding', Buffer.from(SECRET).toString('base64').replace(/=+$/, '')],
    ['as an address encodes it', encodeURIComponent(SECRET)],
    ['as a form encodes it', new URLSearchParams([['', SECRET]]).toString().slice(1)],
  ])('hides a secret %s', (_how, spelling) => {
    expect(knowing(SECRET).hide(`it is ${spelling}, is it not`)).toMatch(/^it is \[hidden\]=*, is it not$/)
  })

  it('hides a secret with quotes as JSON has it', () => {
    expect(knowing('a "secret"').hide(JSON.stringify({ is: 'a "secret"' }))).toBe('{"is":"[hidden]"}')
  })

  it('hides the longer of two secrets whole when one begins with the other', () => {
    expect(knowing('secret', 'secret-two').hide('secret-two')).toBe('[hidden]')
  })

  it.each([
    ['in a text with a letter that is two in lower case', 'GEHEIMNIS-ÄÖÜ', 'İstanbul: GEHEIMNIS-ÄÖÜ'],
    ['that has such a letter', 'GİZLİ-ÇŞĞ', 'İstanbul: GİZLİ-ÇŞĞ'],
    ['before a letter, if its last one has two lower cases', 'ΜΥΣΤΙΚΟΣ', 'it is ΜΥΣΤΙΚΟΣx'],
    ['after a letter, if its first one has two lower cases', 'Σ-ΜΥΣΤΙΚΟ', 'it is xΣ-ΜΥΣΤΙΚΟ'],
  ])('hides a secret %s', (_where, secret, text) => {
    expect(knowing(secret).hide(text)).toBe(text.replace(secret, '[hidden]'))
  })

  it('hides credentials of others', () => {
    expect(knowing().hide('sent Bearer eyJhbGciOiJIUzI1NiJ9.e30')).toBe('sent Bearer [hidden]')
  })

  it.each(['HMAC-SHA256', 'hmac-sha256', 'Hmac-Sha256'])('hides a signature after %s', (scheme) => {
    const authorization = `${scheme} Signature=${'Qq+/'.repeat(11).slice(0, 43)}=`
    expect(knowing().hide(`sent ${authorization}.`)).toBe(`sent ${scheme} Signature=[hidden].`)
  })

  it('leaves no part of a secret at the end of what is cut, wherever the cut falls', () => {
    const known = knowing(SECRET)
    const text = `${'x'.repeat(20)}${SECRET}${SECRET}${'y'.repeat(20)}`
    for (let limit = 0; limit <= text.length; limit++)
      expect(known.hide(text, limit)).toMatch(/^x*(\[hidden\])*y*$/)
  })

  it('leaves no part of a token at the end of what is cut', () => {
    const text = 'Bearer eyJhbGciOiJIUzI1NiJ9'
    for (let limit = 8; limit <= text.length; limit++)
      expect(knowing().hide(text, limit)).toBe('Bearer [hidden]')
  })

  it('never lets a secret through, and changes nothing else', () => {
    const secret = fc.string({ minLength: 4, maxLength: 12, unit: fc.constantFrom('a', 'b', 'c', '"', '=') })
    const around = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'x', ' ', '"', '=') })
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1 }), around, around, fc.nat(40), (secrets, a, b, limit) => {
        const known = knowing(...secrets)
        const text = a + secrets[0] + b
        const hidden = known.hide(text, limit)
        for (const each of secrets) expect(hidden).not.toContain(each)
        if (secrets.every((each) => !text.slice(0, limit + 100).includes(each)))
          expect(hidden).toBe(text.slice(0, limit))
      }),
    )
  })

  it('looks at no more of a text than it keeps', () => {
    const known = knowing(SECRET)
    const slices: number[] = []
    const long = new (class extends String {
      override slice(from?: number, to?: number): string {
        slices.push(to ?? Infinity)
        return super.slice(from, to)
      }
    })('x'.repeat(10_000_000)) as string
    expect(known.hide(long, 100)).toHaveLength(100)
    expect(Math.max(...slices)).toBeLessThan(200)
  })

  it('hides the secrets of lists that a function returned, before and after it was asked to hide something', () => {
    const known = new KnownSecrets()
    known.addReturned([{ secret: SECRET }])
    expect(known.hide(`${SECRET} another-secret`)).toBe('[hidden] another-secret')
    known.addReturned([{ secret: ['another-secret'] }])
    expect(known.hide(`${SECRET} another-secret`)).toBe('[hidden] [hidden]')
  })

  it('remembers ten thousand secrets that a function returned, those used last', () => {
    const known = new KnownSecrets()
    const lookUp = (number: number) => known.addReturned([{ secret: `${number}th-secret;` }])
    for (let number = 0; number < 10_000; number++) lookUp(number)
    lookUp(1)
    for (let number = 10_000; number < 10_002; number++) lookUp(number)
    expect(known.hide('0th-secret; 1th-secret; 2th-secret; 10001th-secret;')).toBe(
      '0th-secret; [hidden] 2th-secret; [hidden]',
    )
  })

  it('remembers a longer list whole', () => {
    const known = new KnownSecrets()
    const list = Array.from({ length: 10_500 }, (_, number) => ({ secret: `${number}th-secret;` }))
    for (let round = 0; round < 3; round++) known.addReturned(list)
    expect(known.hide('0th-secret; 10499th-secret;')).toBe('[hidden] [hidden]')
  })

  it('searches as fast if ten thousand secrets begin alike', () => {
    const secrets = Array.from({ length: 10_000 }, (_, number) => `whsec_${number}-of-ten-thousand`)
    const known = knowing(...secrets)
    const text = 'whsec_'.repeat(600)
    expect(known.hide(`${text} ${secrets[9_999]}`)).toBe(`${text} [hidden]`)
    const started = process.cpuUsage()
    for (let round = 0; round < 20; round++) known.hide(text)
    // If each secret were compared at each place, it would be ten seconds.
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000)
  })

  it('does not take a text of three letters for a secret, as it would hide parts of words', () => {
    expect(knowing('log').hide('logged')).toBe('logged')
  })
})
