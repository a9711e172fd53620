import { createReceiver, MemoryIdempotencyStore, type IdempotencyStore } from '../../src/index.js'
import { subscription } from '../support/subscription.js'

const receiverWith = (open: () => Promise<void>, dependencyTimeoutMs?: number) => {
  const store: IdempotencyStore = Object.assign(new MemoryIdempotencyStore(), { open })
  return createReceiver({ subscriptions: [subscription], store, dependencyTimeoutMs, logger: false })
}

describe('start() of a receiver whose store can be opened', () => {
  it('opens it before the receiver is ready', async () => {
    let wasReady: boolean | undefined
    const receiver = receiverWith(async () => void (wasReady = receiver.ready))
    await receiver.start()
    expect(wasReady).toBe(false)
    expect(receiver.ready).toBe(true)
  })

  it('rejects with its error', async () => {
    const receiver = receiverWith(async () => {
      throw new Error('no such server')
    })
    await expect(receiver.start()).rejects.toThrow('no such server')
    expect(receiver.ready).toBe(false)
  })

  it('rejects when it takes longer than dependencyTimeoutMs', async () => {
    const receiver = receiverWith(() => new Promise(() => {}), 20)
    await expect(receiver.start()).rejects.toThrow('the idempotency store took longer than 20 ms')
  })
})
