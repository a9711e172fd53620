import { createReceiver, type Receiver } from '../../src/receiver/receiver.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { collectedLog } from '../support/collected-log.js'

const subscription = (eventTypeName: string) => ({
  eventTypeName,
  callbackUrl: `https://partner.example.com/${eventTypeName}`,
  secret: `only-for~this.test-${eventTypeName}`,
})

/** The warnings of a start. */
async function warnings(
  register: (receiver: Receiver) => unknown,
  subscriptions: Parameters<typeof createReceiver>[0]['subscriptions'] = [
    subscription('a'),
    subscription('b'),
  ],
) {
  const logger = collectedLog()
  const receiver = createReceiver({ subscriptions, logger })
  await register(receiver)
  await receiver.start()
  await receiver.stop()
  return logger.lines
    .filter(({ level }) => level === 'warn')
    .map(({ fields }) => [fields['code'], fields['eventTypeName']])
}

describe('start() warns', () => {
  it('of a subscribed type without a handler, once', async () => {
    const list = [
      subscription('a'),
      subscription('b'),
      { ...subscription('b'), callbackUrl: 'https://other.example/' },
    ]
    expect(await warnings((receiver) => receiver.on('a', () => {}), list)).toEqual([
      ['WARN_HANDLER_MISSING', 'b'],
    ])
  })

  it('of a handler of a type that is not subscribed', async () => {
    const register = (receiver: Receiver) =>
      receiver
        .on('a', () => {})
        .on('b', () => {})
        .on('c', () => {})
    expect(await warnings(register)).toEqual([['WARN_HANDLER_UNREACHABLE', 'c']])
  })

  it('of no handler at all in one sentence', async () => {
    expect(await warnings(() => {})).toEqual([['WARN_HANDLER_MISSING', undefined]])
  })

  it('once, however often it is called', async () => {
    const register = (receiver: Receiver) => Promise.all([receiver.start(), receiver.start()])
    expect(await warnings(register)).toEqual([['WARN_HANDLER_MISSING', undefined]])
  })

  it('of nothing where there is no handler and an inbox: it only stores', async () => {
    const logger = collectedLog()
    const receiver = createReceiver({ subscriptions: [subscription('a')], logger, inbox: new MemoryInbox() })
    await receiver.start()
    await receiver.stop()
    expect(logger.lines).toEqual([])
  })

  it.each(['onAny', 'onUnhandled'] as const)('of nothing where %s takes every type', async (method) => {
    expect(await warnings((receiver) => receiver[method](() => {}))).toEqual([])
  })

  it('of nothing where the types are not known, as a function finds them', async () => {
    expect(
      await warnings(
        (receiver) => receiver.on('c', () => {}),
        () => [],
      ),
    ).toEqual([])
  })
})
