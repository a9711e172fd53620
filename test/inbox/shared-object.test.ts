import { createWorker } from '../../src/index.js'
import type { WholeInbox } from '../support/whole-inbox.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { describeWithAnyDatabase } from '../support/postgres-inbox.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { becomes } from '../support/running-worker.js'
import { inboxFile, inboxOn } from '../support/sqlite-file.js'

describe('a MemoryInbox', () => sharedByTwo(() => new MemoryInbox()))
describe('a SqliteInbox', () => sharedByTwo(() => inboxOn(inboxFile())))
describeWithAnyDatabase('a PostgresInbox', (database) =>
  sharedByTwo(async () => database.inboxOn(await database.emptySchema(), { pool: database.pool })),
)

function sharedByTwo(createInbox: () => WholeInbox | Promise<WholeInbox>): void {
  const stops: (() => Promise<void>)[] = []
  afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())))

  /** A receiver that only stores, and a worker of the same process with the same inbox, which polls once and is then woken only. */
  async function setUp() {
    const inbox = await createInbox()
    const receiving = await runInboxReceiver({ inbox, handler: null })
    const worker = createWorker({ inbox, logger: collectedLog(), pollMs: 2 ** 30, stopTimeoutMs: 50 })
    stops.push(() => worker.stop())
    worker.on(subscription.eventTypeName, () => {})
    return { ...receiving, inbox, worker }
  }

  it('serves a receiver whose worker in the same process was stopped', async () => {
    const { worker, receiver, send, inbox } = await setUp()
    await worker.start()
    await worker.stop()
    expect(await send(genuine())).toMatchObject({ status: 200 })
    expect(receiver.ready).toBe(true)
    expect(await inbox.stats()).toMatchObject({ counts: { stored: 1 } })
  })

  it('serves a receiver whose worker was stopped without a start', async () => {
    const { worker, send } = await setUp()
    await worker.stop()
    expect(await send(genuine())).toMatchObject({ status: 200 })
  })

  it('serves a worker whose receiver was stopped, and has both hear of a decision before', async () => {
    const { worker, receiver, inbox } = await setUp()
    await worker.start()
    const told: unknown[] = []
    for (const { events } of [receiver, worker]) events.on('decided', (event) => void told.push(event))
    const [first, second] = [
      await inbox.add(arrival({ suspicion: 'stale' })),
      await inbox.add(arrival({ suspicion: 'stale' })),
    ]
    await worker.idle()
    await inbox.act(first.id, 'release', 'ann', { reason: 'looked at it' })
    const event = { entryId: first.id, action: 'release', by: 'ann', reason: 'looked at it' }
    expect(told).toEqual([event, event])
    await becomes(inbox, first.id, 'handled')
    await receiver.stop()
    await inbox.act(second.id, 'release', 'ann')
    await becomes(inbox, second.id, 'handled')
    expect(told).toHaveLength(3)
  })
}
