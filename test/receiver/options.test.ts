import { inspect } from 'node:util'
import { createReceiver, MemoryIdempotencyStore, type CountersignError } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { collectedLog } from '../support/collected-log.js'
import { SECRET, subscription } from '../support/subscription.js'

/** What is thrown for options that the types would not let through. */
function refusal(options: object): CountersignError {
  try {
    createReceiver({ subscriptions: [subscription], ...options })
  } catch (error) {
    return error as CountersignError
  }
  throw new Error('nothing was refused')
}

describe('createReceiver', () => {
  it.each([
    ['toleranceMs', -1, '-1', /whole number from 0/],
    ['toleranceMs', '60000', '"60000"', /whole number/],
    ['toleranceMs', Infinity, 'Infinity', /whole number/],
    ['futureToleranceMs', NaN, 'NaN', /whole number from 0/],
    ['dependencyTimeoutMs', 0, '0', /whole number from 1 to 2147483647/],
    ['maxBodyBytes', 0, '0', /whole number from 1/],
    ['maxBodyBytes', '1mb', '"1mb"', /whole number/],
    ['bodyTimeoutMs', 2 ** 31, '2147483648', /whole number from 1 to 2147483647/],
    ['handlerTimeoutMs', 1.5, '1.5', /whole number/],
    ['handlerTimeoutMs', 54_001, '54001', /stay within nine tenths of leaseMs \(60000\), or raise that/],
    ['leaseMs', 0, '0', /whole number/],
    ['stopTimeoutMs', true, 'true', /whole number/],
    ['clock', 1_000, '1000', /pass a function/],
    ['clock', () => new Date(), 'a function whose result is of type object', /number of milliseconds/],
    ['clock', async () => 0, 'a function whose result is of type object', /number of milliseconds/],
    ['clock', () => undefined, 'a function whose result is undefined', /number of milliseconds/],
    ['logger', { info() {} }, 'of type object', /methods debug, info, warn, error/],
    ['store', {}, 'of type object', /method claim;/],
    ['store', new MemoryInbox(), 'an inbox', /pass it as inbox/],
    ['schemas["a.b"]', { parse() {} }, 'of type object', /Standard Schema/],
    ['schemas', 5, '5', /Standard Schemas by event type/],
    ['subscriptions', [], 'an empty list', /list of at least one, or a function/],
    ['subscriptions', undefined, 'undefined', /list of at least one/],
  ])('names option, value and cure for %s = %p', (name, value, shown, cure) => {
    const option = name.startsWith('schemas[') ? { schemas: { 'a.b': value } } : { [name]: value }
    const { code, message } = refusal(option)
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toMatch(/^createReceiver: /)
    expect(message).toContain(`${name} is ${shown}: `)
    expect(message).toMatch(cure)
  })

  it.each([
    ['toleranceMs', { toleranceMs: -1 }],
    ['tolerance', { tolerance: 5 }],
    ['logger', { logger: {} }],
    ['schemas', { schemas: { 'a.b': {} } }],
    ['subscriptions', { subscriptions: [] }],
    ['subscriptions', { subscriptions: [{ ...subscription, callbackUrl: '/x' }] }],
    ['subscriptions', { subscriptions: [{ ...subscription, eventTypeName: '' }] }],
    ['subscriptions', { subscriptions: [{ ...subscription, eventType: 'x' }] }],
    ['subscriptions', { subscriptions: [subscription, subscription] }],
    ['concurrency', { concurrency: 5 }],
  ])('has the option (%s) and where it was given as fields', (option, given) => {
    expect(refusal(given)).toMatchObject({ name: 'CountersignError', owner: 'createReceiver', option })
  })

  it('names an option that it does not have, and those that it has', () => {
    const { code, message } = refusal({ tolerance: 5 })
    expect(code).toBe('ERR_OPTION_UNKNOWN')
    expect(message).toMatch(/^createReceiver has no option "tolerance"\. Its options are subscriptions, /)
    expect(message).toContain('toleranceMs')
  })

  it.each([undefined, null, [], 'subscriptions'])('refuses %p in place of options', (options) => {
    expect(() => createReceiver(options as never)).toThrow(/options is .*: pass one object/)
  })

  it('takes explicit undefined for absent', () => {
    const options = { toleranceMs: undefined, store: undefined, logger: undefined, schemas: { a: undefined } }
    expect(() => createReceiver({ subscriptions: [subscription], ...options })).not.toThrow()
  })

  it('takes the largest values', () => {
    const longest = 2 ** 31 - 1
    const options = { leaseMs: longest, handlerTimeoutMs: Math.floor(longest * 0.9), bodyTimeoutMs: longest }
    expect(() => createReceiver({ subscriptions: [subscription], ...options })).not.toThrow()
  })

  it('refuses a tolerance that outlasts the memory of the store', () => {
    const store = new MemoryIdempotencyStore({ retentionMs: 86_400_000 })
    const { message } = refusal({ store })
    expect(message).toMatch(/toleranceMs is 86400000: the store remembers for 86400000 ms, less than/)
    expect(message).toMatch(/raise its retentionMs, or lower toleranceMs/)
    expect(() =>
      createReceiver({ subscriptions: [subscription], store, toleranceMs: 86_000_000 }),
    ).not.toThrow()
  })

  it('refuses a store that does not say how long it remembers', () => {
    const store = { claim: () => Promise.reject(new Error('never')) }
    expect(refusal({ store })).toMatchObject({ code: 'ERR_OPTION_INVALID' })
  })

  it.each([
    ['a secret in place of a list of subscriptions', { subscriptions: SECRET }],
    ['a secret in place of a subscription', { subscriptions: [SECRET] }],
    ['subscriptions as JSON', { subscriptions: JSON.stringify([{ secret: SECRET }]) }],
    ['a secret beside a URL that is wrong', { subscriptions: [{ ...subscription, callbackUrl: '/x' }] }],
    ['a secret in an object', { subscriptions: [{ ...subscription, secret: { text: SECRET } }] }],
    ['a secret under a wrong name', { subscriptions: [{ ...subscription, secretText: SECRET }] }],
    ['a secret beside a wrong option', { subscriptions: [subscription], toleranceMs: -1 }],
  ])('does not repeat %s', (_what, options) => {
    expect(inspect(refusal(options))).not.toContain(SECRET)
  })

  it('does not show its secrets when it is looked at', () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: collectedLog() })
    expect(inspect(receiver, { depth: Infinity, showHidden: true })).not.toContain(SECRET)
    expect(JSON.stringify(receiver)).not.toContain(SECRET)
  })
})
