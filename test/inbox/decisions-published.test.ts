import { createWorker } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { becomes } from '../support/running-worker.js'

describe('a decision in the inbox of a receiver', () => {
  it('is published, with who made it', async () => {
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
      expect(await inbox.act(id, action, 'ann')).toEqual({ done: true })
    expect(told).toEqual([
      { entryId: dead, action: 'retry', by: 'ann' },
      { entryId: suspect, action: 'release', by: 'ann' },
      { entryId: other, action: 'discard', by: 'ann' },
    ])
  })

  it('is not published if it is refused', async () => {
    const { receiver, inbox } = await runInboxReceiver()
    const told: unknown[] = []
    receiver.events.on('decided', (event) => told.push(event))
    expect(await inbox.act('7', 'retry', 'ann')).toMatchObject({
      done: false,
      code: 'not-found',
    })
    expect(told).toEqual([])
  })

  it('has the worker of the process look immediately', async () => {
    const { inbox, handled } = await runInboxReceiver({ pollMs: 2 ** 30 })
    const { id } = await inbox.add(arrival({ suspicion: 'stale' }))
    await inbox.act(id, 'release', 'ann')
    await becomes(inbox, id, 'handled')
    expect(handled).toHaveLength(1)
  })

  it('has the worker look for the entry that waited behind a discarded one', async () => {
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
    await inbox.act(first, 'discard', 'ann')
    await becomes(inbox, second, 'handled')
  })
})

describe('a decision in the inbox of a worker', () => {
  it('is published once the worker has started', async () => {
    const inbox = new MemoryInbox()
    const worker = createWorker({ inbox, logger: collectedLog() })
    const told: unknown[] = []
    worker.events.on('decided', (event) => told.push(event))
    const { id } = await inbox.add(arrival())
    await worker.start()
    await inbox.act(id, 'discard', 'bob')
    expect(told).toEqual([{ entryId: id, action: 'discard', by: 'bob' }])
    await worker.stop()
  })
})
