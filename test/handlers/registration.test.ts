import { createReceiver, createWorker } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'

const TYPE = subscription.eventTypeName
const noop = () => {}

describe('a function that gets the methods of a receiver by name', () => {
  it('registers handlers and listeners with a real receiver', async () => {
    const { receiver, send } = await runReceiver({ handler: null })
    const told: string[] = []
    const register = ({ on, onHandled, events }: typeof receiver) => {
      on(TYPE, () => told.push('handler'))
      onHandled(() => told.push('onHandled'))
      const { on: listen, around } = events
      listen('handled', () => told.push('listener'))
      around('attempt', (_step, next) => {
        told.push('around')
        return next()
      })
    }
    register(receiver)
    await send(genuine())
    expect(told).toEqual(['around', 'handler', 'onHandled', 'listener'])
  })

  const options = { logger: false, inbox: new MemoryInbox() } as const
  const receiver = createReceiver({ ...options, subscriptions: [subscription] })
  const worker = createWorker(options)

  it.each([
    ['receiver', receiver, ['onAny', 'onUnhandled', 'onError', 'onHandled', 'onFailed', 'onDeadLetter']],
    ['receiver', receiver, ['onOutcome', 'onQuarantined']],
    ['worker', worker, ['onAny', 'onUnhandled', 'onError', 'onHandled', 'onFailed', 'onDeadLetter']],
  ] as const)('can use each of them: those of a %s', (_name, target, methods) => {
    for (const method of methods) {
      const registers = (target as unknown as Record<string, (handler: () => void) => unknown>)[method]!
      expect(registers(noop)).toBe(target)
    }
  })

  it('leaves the methods out of what is shown of a receiver', () => {
    expect(Object.keys(receiver)).not.toContain('on')
  })
})
