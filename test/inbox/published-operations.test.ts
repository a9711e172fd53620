import { createWorker } from '../../src/index.js'
import { MemoryInbox } from '../../src/inbox/memory-inbox.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine, runReceiver } from '../support/running-receiver.js'
import { becomes } from '../support/running-worker.js'

describe('the operations of a receiver', () => {
  it('publish what an operator did, and who', async () => {
    const { receiver, inbox } = await runInboxReceiver({
      handler: () => Promise.reject(new Error('no')),
      maxAttempts: 1,
    })
    const told: unknown[] = []
    receiver.events.on('decided', (event) => told.push(event))
    const { id: dead } = await inbox.add(arrival())
    await becomes(inbox, dead, 'dead')
    const { id: suspect } = await inbox.add(arrival({ suspicion: 'stale' }))
    const { id: other } = await inbox.add(arrival({ suspicion: 'stale' }))
    for (const [id, action] of [
      [dead, 'retry'],
      [suspect, 'release'],
      [other, 'discard'],
    ] as const)
      expect(await receiver.operations!.act(id, action, 'ann')).toEqual({ done: true })
    expect(told).toEqual([
      { entryId: dead, action: 'retry', by: 'ann' },
      { entryId: suspect, action: 'release', by: 'ann' },
      { entryId: other, action: 'discard', by: 'ann' },
    ])
  })

  it('publish nothing of an action that is refused', async () => {
    const { receiver } = await runInboxReceiver()
    const told: unknown[] = []
    receiver.events.on('decided', (event) => told.push(event))
    expect(await receiver.operations!.act('7', 'retry', 'ann')).toMatchObject({
      done: false,
      code: 'not-found',
    })
    expect(told).toEqual([])
  })

  it('have the worker of the process look at once', async () => {
    const { receiver, inbox, handled } = await runInboxReceiver({ pollMs: 2 ** 30 })
    const { id } = await inbox.add(arrival({ suspicion: 'stale' }))
    await receiver.operations!.act(id, 'release', 'ann')
    await becomes(inbox, id, 'handled')
    expect(handled).toHaveLength(1)
  })

  it('have the worker look for the entry that waited behind a discarded one', async () => {
    const { receiver, inbox } = await runInboxReceiver({
      start: false,
      pollMs: 2 ** 30,
      retryDelayMs: 2 ** 30,
      maxRetryDelayMs: 2 ** 30,
      handler: ({ payload }) => (payload['Id'] === 'first' ? Promise.reject(new Error('no')) : undefined),
    })
    const store = async (Id: string) =>
      (await inbox.add(arrival({ orderKey: 'a', body: JSON.stringify({ Id }) }))).id
    const [first, second] = [await store('first'), await store('second')]
    await receiver.start()
    await becomes(inbox, first, 'retrying')
    await receiver.operations!.act(first, 'discard', 'ann')
    await becomes(inbox, second, 'handled')
  })

  it('list, show, count and delete as the inbox does, and do not close it', async () => {
    const { receiver, inbox, send } = await runInboxReceiver()
    await send(genuine())
    const operations = receiver.operations!
    await operations.open()
    await operations.close()
    await becomes(inbox, '1', 'handled')
    expect(await operations.stats()).toEqual(await inbox.stats())
    expect(await operations.list({}, { newestFirst: true })).toEqual(await inbox.list({}))
    expect(await operations.show('1')).toEqual(await inbox.show('1'))
    expect(await operations.related('1')).toEqual([])
    expect(await operations.prune({ state: 'handled', limit: 1 })).toBe(0)
    expect(operations).toMatchObject({
      retentionMs: inbox.retentionMs,
      discardedRetentionMs: inbox.discardedRetentionMs,
    })
  })

  it('are not there without an inbox, or with an inbox that lacks one of them', async () => {
    expect((await runReceiver()).receiver.operations).toBeUndefined()
    const inbox = Object.assign(new MemoryInbox(), { related: undefined }) as unknown as MemoryInbox
    expect((await runReceiver({ inbox })).receiver.operations).toBeUndefined()
  })
})

describe('the operations of a worker', () => {
  it('publish what an operator did', async () => {
    const inbox = new MemoryInbox()
    const worker = createWorker({ inbox, logger: collectedLog() })
    const told: unknown[] = []
    worker.events.on('decided', (event) => told.push(event))
    const { id } = await inbox.add(arrival())
    await worker.operations!.act(id, 'discard', 'bob')
    expect(told).toEqual([{ entryId: id, action: 'discard', by: 'bob' }])
    await worker.stop()
  })
})
