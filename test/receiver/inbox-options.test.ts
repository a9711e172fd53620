import { createReceiver, MemoryIdempotencyStore } from '../../src/index.js'
import { MemoryInbox } from '../../src/inbox/memory-inbox.js'
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
    ['a file name', 'callbacks.db', 'inbox is "callbacks.db": '],
    ['a URL with a password', 'postgres://u:pw@h/db', 'inbox is a text of 20 characters: '],
    [
      'null',
      null,
      'inbox is null: pass an object with the methods open, add, claim, begin, extend, settle, prune, close.',
    ],
    ['an object that is something else', { add() {} }, 'inbox is of type object: '],
    ['a store', new MemoryIdempotencyStore(), 'inbox is of type object: '],
  ])('refuses %s as an inbox', (_what, inbox, says) => {
    const { code, message } = refusal({ inbox })
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toContain(says)
    expect(message).toMatch(/pass an object with the methods open, add, /)
  })

  it.each(['add', 'begin', 'settle', 'prune'])('refuses an inbox without %s, and names it', (name) => {
    const inbox = Object.assign(Object.create(new MemoryInbox()) as object, { [name]: undefined })
    expect(refusal({ inbox }).message).toMatch(new RegExp(`, close; it lacks ${name}\\.$`))
  })

  it('needs nothing of an inbox that only operators use', () => {
    const own = { stats: undefined, list: undefined, show: undefined, related: undefined, act: undefined }
    expect(() =>
      make({ inbox: Object.assign(Object.create(new MemoryInbox()) as object, own) }),
    ).not.toThrow()
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
