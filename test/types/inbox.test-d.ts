import {
  createReceiver,
  MemoryInbox,
  type Attempt,
  type AttemptState,
  type Entry,
  type ExplainedEvent,
  type InboxOperations,
  type PrunableState,
  type PruneEntries,
} from '../../src/index.js'
import { migrationSql } from '../../src/postgres.js'
import { equal } from './equal.js'

declare const operations: InboxOperations

await operations.list({ after: new Date(), before: Date.now() })
await operations.activity({ from: new Date(), to: Date.now(), bucketMs: 3_600_000 })

const entry = await operations.show('1')
equal<Entry | undefined>()(entry)
const [attempt] = entry?.attemptHistory ?? []
equal<Attempt | undefined>()(attempt)
// Not AttemptResult, which is the type of another value in the package.
equal<AttemptState | undefined>()(attempt?.result)
// @ts-expect-error an attempt has no such end
void (attempt?.result === 'completed')

// The types that operators and listeners refer to are exported by name.
equal<PrunableState>()((null as unknown as PruneEntries).state)
createReceiver({ subscriptions: [] }).events.on('explained', (event) => {
  equal<ExplainedEvent>()(event)
})
// @ts-expect-error the migrations are those of this version
migrationSql('countersign', [])

const inbox = new MemoryInbox()
await inbox.open()
// @ts-expect-error what workers use is not a part of the public interface
void inbox.claim
// @ts-expect-error an object with methods is not an inbox
createReceiver({ subscriptions: [], inbox: { open() {} } })

createReceiver({ subscriptions: [] }).on('transfers.book-completed', (event) => {
  // @ts-expect-error the trace context of the entry is for spans only
  void event.traceContext
})
