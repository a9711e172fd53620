import { createReceiver, MemoryIdempotencyStore } from '../../src/index.js'
import * as Real from '../../src/inbox/memory-inbox.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { subscription } from '../support/subscription.js'

function make(options: object) {
  return createReceiver({ subscriptions: [subscription], ...options })
}

function refusal(options: object): { code: string; message: string } {
  try {
    make(options)
  } catch (error) {
    return error as { code: string; message: string }
  }
  throw new Error('nothing was refused')
}

describe('createReceiver with an inbox', () => {
  it.each([
    ['concurrency', 0, '0', /whole number from 1 to 10000/],
    ['concurrency', 10_001, '10001', /whole number from 1 to 10000/],
    ['concurrency', '5', '"5"', /whole number/],
    ['maxAttempts', 0, '0', /whole number from 1/],
    ['maxAttempts', Infinity, 'Infinity', /whole number/],
    ['retryDelayMs', 0, '0', /whole number from 1 to 2147483647/],
    ['retryDelayMs', NaN, 'NaN', /whole number/],
    ['maxRetryDelayMs', 2 ** 31, '2147483648', /whole number from 1 to 2147483647/],
    ['pollMs', 0.5, '0.5', /whole number from 1/],
    ['orderBy', 'Id', '"Id"', /pass a function/],
  ])('names option, value and cure for %s = %p', (name, value, shown, cure) => {
    const { code, message } = refusal({ inbox: new MemoryInbox(), [name]: value })
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toMatch(/^createReceiver: /)
    expect(message).toContain(`${name} is ${shown}: `)
    expect(message).toMatch(cure)
  })

  it.each([
    ['a file name', 'callbacks.db', 'of type string: pass new SqliteInbox({ file })'],
    ['the options of a file', { file: 'callbacks.db' }, 'of type object: pass new SqliteInbox({ file })'],
    ['the name of a database in memory', ':memory:', 'of type string: pass new MemoryInbox()'],
    [
      'a URL with a password',
      'postgres://u:pw@h/db',
      'of type string: pass new PostgresInbox({ connectionString',
    ],
    ['a pool', { connect() {}, query() {} }, 'of type object: pass new PostgresInbox({ pool })'],
    ['null', null, 'null: pass a SqliteInbox, a PostgresInbox or a MemoryInbox'],
    [
      'a class',
      MemoryInbox,
      'of type function: pass a SqliteInbox, a PostgresInbox or a MemoryInbox, made with new.',
    ],
    ['an object that is something else', { add() {} }, 'of type object: pass a SqliteInbox'],
    ['a store', new MemoryIdempotencyStore(), 'of type object: pass a SqliteInbox'],
  ])('refuses %s as an inbox, with what to write instead', (_what, inbox, says) => {
    const { code, message } = refusal({ inbox })
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toContain(`inbox is ${says}`)
  })

  it('takes an inbox of another copy of the package', () => {
    let inbox: unknown
    jest.isolateModules(() => {
      const { MemoryInbox: Other } = require('../../src/inbox/memory-inbox.js') as typeof Real
      inbox = new Other()
    })
    expect(inbox).not.toBeInstanceOf(Real.MemoryInbox)
    expect(() => make({ inbox })).not.toThrow()
  })

  it('refuses a store beside it', () => {
    const { code, message } = refusal({ inbox: new MemoryInbox(), store: new MemoryIdempotencyStore() })
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toMatch(
      /^createReceiver: store is of type object: it has no effect with an inbox: leave it out/,
    )
  })

  it('refuses a tolerance that outlasts its memory', () => {
    const inbox = new MemoryInbox({ retentionMs: 86_400_000 })
    const { code, message } = refusal({ inbox })
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toMatch(/toleranceMs is 86400000: the inbox remembers for 86400000 ms, less than/)
    expect(message).toMatch(/raise its retentionMs, or lower toleranceMs/)
    expect(() => make({ inbox, toleranceMs: 86_100_000 })).not.toThrow()
  })

  it('takes explicit undefined for absent', () => {
    const absent = { orderBy: undefined, concurrency: undefined, maxAttempts: undefined, pollMs: undefined }
    expect(() => make({ inbox: new MemoryInbox(), store: undefined, ...absent })).not.toThrow()
    expect(() => make({ inbox: undefined, ...absent })).not.toThrow()
  })

  it('takes the smallest and the largest values', () => {
    const inbox = new MemoryInbox()
    const longest = 2 ** 31 - 1
    expect(() =>
      make({ inbox, concurrency: 1, maxAttempts: 1, retryDelayMs: 1, maxRetryDelayMs: 1 }),
    ).not.toThrow()
    expect(() =>
      make({ inbox, concurrency: 10_000, retryDelayMs: longest, maxRetryDelayMs: longest, pollMs: longest }),
    ).not.toThrow()
  })
})

describe('createReceiver without an inbox', () => {
  it.each([
    ['orderBy', () => 'a', 'of type function'],
    ['concurrency', 5, '5'],
    ['maxAttempts', 5, '5'],
    ['retryDelayMs', 5, '5'],
    ['maxRetryDelayMs', 5, '5'],
    ['pollMs', 5, '5'],
  ])('refuses %s, which would have no effect', (name, value, shown) => {
    const { code, message } = refusal({ [name]: value })
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toBe(
      `createReceiver: ${name} is ${shown}: it has no effect without an inbox: leave it out.`,
    )
  })
})
