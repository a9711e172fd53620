import type { ServiceSimulator } from '../../src/simulator.js'
import { subscription } from '../support/running-receiver.js'
import { runSimulator } from './running-simulator.js'

/** A method with its arguments, the option that is wrong, and what the message has about it. */
type Case = readonly [
  method: keyof ServiceSimulator,
  given: readonly unknown[],
  option: string,
  message: string,
]

const HANDLED = 'use a list; pass what the handlers have handled: idempotency keys or events.'
const SUBSCRIPTION = 'subscription is not known: pass one of simulator.subscriptions'
const circular: { self?: unknown } = {}
circular.self = circular

const INVALID: readonly Case[] = [
  ['subscribed', [null], 'options', 'options is null: pass one object'],
  ['subscribed', [{ count: '2' }], 'count', 'count is "2": use a whole number'],
  [
    'subscribed',
    [{ signal: {} }],
    'signal',
    'signal is of type object: pass the signal of an AbortController.',
  ],
  ['rotateSecret', [], 'subscription', SUBSCRIPTION],
  ['rotateSecret', [null], 'subscription', SUBSCRIPTION],
  ['deliver', [{ subscription: 'sub-1' }], 'subscription', SUBSCRIPTION],
  ['deliver', [{ signal: 1 }], 'signal', 'signal is 1: pass the signal of an AbortController.'],
  ['deliver', [{ idempotencyKey: 7 }], 'idempotencyKey', 'idempotencyKey is 7: pass a text, such as a UUID.'],
  ['deliver', [{ body: { Id: 'x' } }], 'body', 'body is of type object: pass a text or bytes.'],
  ['deliver', [{ payload: 7n }], 'payload', 'payload of type bigint has no JSON form'],
  ['deliver', [{ payload: circular }], 'payload', 'payload of type object has no JSON form'],
  ['deliverMany', [], 'list', 'list is undefined: pass a list of the options of deliver.'],
  ['deliverMany', [{}], 'list', 'list is of type object: pass a list of the options of deliver.'],
  ['deliverMany', [[], { shuffle: 1 }], 'shuffle', 'shuffle is 1: use true or false.'],
  ['report', [], 'handled', `handled is undefined: ${HANDLED}`],
  ['report', ['a key'], 'handled', `handled is of type string: ${HANDLED}`],
  ['report', [['a key', {}]], 'handled', 'handled[1] is of type object: pass what the handlers have handled'],
  ['assertNothingLost', [], 'handled', `handled is undefined: ${HANDLED}`],
  ['assertNothingForged', [null], 'handled', `handled is null: ${HANDLED}`],
  ['assertNothingSuspect', [{}], 'handled', `handled is of type object: ${HANDLED}`],
  ['assertNothingTwice', [[7]], 'handled', 'handled[0] is of type number'],
]

const CASES = [
  ...INVALID.map((each) => [...each, 'ERR_OPTION_INVALID'] as const),
  ['subscribed', [{ cuont: 2 }], 'cuont', 'Did you mean "count"?', 'ERR_OPTION_UNKNOWN'] as const,
]

describe('a wrong argument of the simulator', () => {
  it.each(CASES)('is refused with its name: %s, case %#', async (method, given, option, message, code) => {
    const simulator = await runSimulator({ deliverTo: 'http://127.0.0.1:1' })
    simulator.subscribe(subscription)
    const call = simulator[method] as (...given: readonly unknown[]) => unknown
    const result: unknown = await Promise.resolve()
      .then(() => call(...given))
      .catch((error: unknown) => error)
    expect(result).toMatchObject({
      code,
      option,
      owner: method,
      message: expect.stringContaining(message),
    })
    expect(simulator.deliveries).toEqual([])
  })
})
