import pino from 'pino'
import { inspect } from 'node:util'
import { runInNewContext } from 'node:vm'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import { loggedError } from '../../src/logging/logged-error.js'

const SECRET = 's3cret~Text-with_dots.and-dashes'
const secrets = new KnownSecrets()
secrets.add([{ secret: SECRET }])
const logged = (error: unknown) => loggedError(error, secrets) as Error & { code?: unknown; cause?: Error }

class SettlementError extends TypeError {}

describe('loggedError', () => {
  it('keeps name, message, code, stack and causes, and nothing else', () => {
    const cause = Object.assign(new Error('below'), { request: { secret: 1 } })
    const error = Object.assign(new RangeError('above', { cause }), { code: 'E_X', config: { a: 1 } })
    const copy = logged(error)
    expect(copy).toBeInstanceOf(Error)
    expect(copy).toMatchObject({ name: 'RangeError', message: 'above', code: 'E_X', stack: error.stack })
    expect(copy.cause).toMatchObject({ name: 'Error', message: 'below', stack: cause.stack })
    expect(inspect(copy, { showHidden: true, depth: 9 })).not.toMatch(/config|request/)
  })

  it.each([
    ['the name of the class', new SettlementError('no'), 'SettlementError'],
    ['a name of its own', Object.assign(new Error('no'), { name: 'Mine' }), 'Mine'],
    ['that of an error of another realm', runInNewContext('new TypeError("no")'), 'TypeError'],
    ['that of an AbortError', AbortSignal.abort().reason, 'AbortError'],
  ])('shows %s, to pino as well', (_what, error, name) => {
    expect(logged(error).name).toBe(name)
    expect(pino.stdSerializers.err(logged(error))).toMatchObject({ type: name })
  })

  it.each([
    ['a message', (text: string) => new Error(text)],
    ['a stack', (text: string) => Object.assign(new Error('m'), { stack: `Error: m\n    at ${text}` })],
    ['a code', (text: string) => Object.assign(new Error('m'), { code: text })],
    ['a name', (text: string) => Object.assign(new Error('m'), { name: text })],
    ['a cause', (text: string) => new Error('m', { cause: new Error('n', { cause: new Error(text) }) })],
  ])('hides the known secrets in %s', (_where, make) => {
    for (const spelling of [SECRET, Buffer.from(SECRET).toString('base64')]) {
      const shown = inspect(logged(make(`with ${spelling} in it`)), { showHidden: true, depth: 9 })
      expect(shown).not.toContain(spelling)
      expect(shown).toContain('[hidden]')
    }
  })

  it('cuts a long message, says so, and still shows where it was thrown', () => {
    const error = new Error(`begin${'x'.repeat(10_000_000)}end`)
    const { message, stack } = logged(error)
    expect(message).toMatch(/^beginx+… \(cut: it has 10000008 characters\)$/)
    expect(message.length).toBeLessThan(4_200)
    expect(stack).toMatch(/\n {4}at .*logged-error\.test/)
    expect(stack!.length).toBeLessThan(8_500)
  })

  it('cuts a long stack', () => {
    const error = Object.assign(new Error('m'), { stack: `Error: m${'\n    at somewhere'.repeat(100_000)}` })
    expect(logged(error).stack).toMatch(/… \(cut: it has \d+ characters\)$/)
    expect(logged(error).stack!.length).toBeLessThan(4_200)
  })

  it('does not end what it cut with a part of a secret', () => {
    for (let before = 4_096 - SECRET.length; before <= 4_096; before++) {
      const { message, stack } = logged(new Error('x'.repeat(before) + SECRET))
      expect(message + stack).not.toContain(SECRET.slice(0, 4))
    }
  })

  it('bounds a chain of causes, and all of it together', () => {
    let error: unknown
    for (let depth = 0; depth < 1_000; depth++) error = new Error('x'.repeat(100_000), { cause: error })
    const serialized = JSON.stringify(pino.stdSerializers.err(logged(error)))
    expect(serialized.length).toBeLessThan(32_000)
    expect(serialized.match(/caused by/g)).toHaveLength(3)
  })

  it('ends with a cause that is its own', () => {
    const error: Error & { cause?: unknown } = new Error('round')
    error.cause = error
    expect(inspect(logged(error)).match(/Error: round/g)).toHaveLength(4)
  })

  it.each([
    [undefined, 'a thrown undefined'],
    [null, 'a thrown null'],
    ['the text of a card', 'a thrown string'],
    [{ secret: SECRET }, 'a thrown object'],
    [Symbol('s'), 'a thrown symbol'],
  ])('says of %p what it is, and no more', (thrown, message) => {
    expect(logged(thrown).message).toBe(message)
  })

  it('is not empty for a logger that writes JSON', () => {
    const error = Object.assign(new RangeError('above', { cause: new Error('below') }), { code: 'E_X' })
    expect(JSON.parse(JSON.stringify(logged(error)))).toEqual({
      name: 'RangeError',
      message: 'above',
      code: 'E_X',
      stack: error.stack,
      cause: { name: 'Error', message: 'below', stack: expect.any(String) },
    })
  })

  it('is not made of its own copy again, which would cut it twice', () => {
    const copy = logged(new Error('x'.repeat(5_000)))
    expect(logged(copy)).toBe(copy)
  })
})
