import { createReceiver, createWorker, type EventMap, type Registration } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { subscription } from '../support/subscription.js'
import { TransactionalMemoryInbox } from '../support/transactional-memory-inbox.js'

const TYPE = subscription.eventTypeName
const TRANSACTIONAL = { transactional: true } as const

describe('the registration of a transactional handler', () => {
  const inbox = new TransactionalMemoryInbox()
  const refusal = (register: () => unknown): unknown => {
    try {
      register()
      return undefined
    } catch (error) {
      return error
    }
  }
  // As in JavaScript, where no compiler refuses it.
  const plain = { transactional: true } as unknown as { timeoutMs: number }

  it.each<[string, Registration<EventMap>]>([
    ['a receiver without an inbox', createReceiver({ subscriptions: [subscription] })],
    ['a receiver', createReceiver({ subscriptions: [subscription], inbox: new MemoryInbox() })],
    ['a worker', createWorker({ inbox: new MemoryInbox() })],
  ])('is refused where the inbox has no transactions: %s', (_, registration) => {
    expect(refusal(() => registration.on(TYPE, () => {}, plain))).toMatchObject({
      code: 'ERR_OPTION_INVALID',
      option: 'transactional',
      message: expect.stringContaining('PostgresInbox of countersign/postgres'),
    })
  })

  it('is refused for a second handler of the same type, and not for another type', () => {
    const receiver = createReceiver({ subscriptions: [subscription], inbox })
    receiver.on(TYPE, () => {}, TRANSACTIONAL).on('another.type', () => {}, TRANSACTIONAL)
    expect(refusal(() => receiver.on(TYPE, () => {}, TRANSACTIONAL))).toMatchObject({
      code: 'ERR_HANDLER_INVALID',
      message: expect.stringContaining('Do the work of both in one handler'),
    })
    receiver.on(TYPE, () => {})
  })

  it.each(['onAny', 'onUnhandled'] as const)('is refused by %s', (method) => {
    const worker = createWorker({ inbox })
    expect(refusal(() => worker[method](() => {}, plain))).toMatchObject({
      code: 'ERR_OPTION_INVALID',
      option: 'transactional',
      message: expect.stringContaining('on() for each event type'),
    })
  })

  it('is refused for anything but a boolean', () => {
    const worker = createWorker({ inbox })
    expect(refusal(() => worker.on(TYPE, () => {}, { transactional: 'yes' } as never))).toMatchObject({
      code: 'ERR_OPTION_INVALID',
      option: 'transactional',
    })
  })
})
