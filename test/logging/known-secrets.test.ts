import fc from 'fast-check'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import { thenable } from '../support/hostile-values.js'

const SECRET = 's3cret~Text-with_dots.and-dashes'

function knowing(...secrets: string[]): KnownSecrets {
  const known = new KnownSecrets()
  known.of([{ secret: secrets }])
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

  it('hides credentials of others', () => {
    expect(knowing().hide('sent Bearer eyJhbGciOiJIUzI1NiJ9.e30')).toBe('sent Bearer [hidden]')
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

  it('hides the secrets of what a function returned, and gives its result on as it is', async () => {
    const known = new KnownSecrets()
    const list = [{ secret: SECRET }]
    expect(known.of(() => list)()).toBe(list)
    expect(await known.of(async () => [{ secret: ['another-secret'] }])()).toEqual([
      { secret: ['another-secret'] },
    ])
    expect(known.hide(`${SECRET} another-secret`)).toBe('[hidden] [hidden]')
  })

  it('asks a query builder once', async () => {
    let asked = 0
    const query = thenable<object[]>((resolve) => {
      asked++
      resolve([{ secret: SECRET }])
    })
    const known = new KnownSecrets()
    await known.of(() => query)()
    expect(asked).toBe(1)
    expect(known.hide(SECRET)).toBe('[hidden]')
  })

  it('remembers a thousand secrets that a function returned, those used last', () => {
    const known = new KnownSecrets()
    let number = 0
    const lookUp = known.of(() => [{ secret: `secret-number-${number};` }])
    for (number = 0; number < 1_001; number++) lookUp()
    number = 1
    lookUp()
    number = 1_001
    lookUp()
    expect(known.hide('secret-number-0; secret-number-1; secret-number-2; secret-number-1001;')).toBe(
      'secret-number-0; [hidden] secret-number-2; [hidden]',
    )
  })

  it('does not take a text of three letters for a secret, as it would hide parts of words', () => {
    expect(knowing('log').hide('logged')).toBe('logged')
  })
})
