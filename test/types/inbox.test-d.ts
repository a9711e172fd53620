import {
  createReceiver,
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
