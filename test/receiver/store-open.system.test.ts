import { spawnSync } from 'node:child_process'
import { createReceiver, MemoryIdempotencyStore, type IdempotencyStore } from '../../src/index.js'
import { subscription } from '../support/subscription.js'
import { LIMIT_MS } from '../support/until.js'

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

  it('rejects also if nothing else keeps the process alive', () => {
    const program = `
      import { createReceiver, MemoryIdempotencyStore } from 'countersign'
      const store = Object.assign(new MemoryIdempotencyStore(), { open: () => new Promise(() => {}) })
      const subscription = ${JSON.stringify(subscription)}
      const receiver = createReceiver({ subscriptions: [subscription], store, dependencyTimeoutMs: 20, logger: false })
      await receiver.start().catch(({ message }) => console.log(message))`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      timeout: LIMIT_MS,
    })
    expect(stdout).toBe('the idempotency store took longer than 20 ms\n')
  })
})
