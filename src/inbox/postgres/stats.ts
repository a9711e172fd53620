import { NO_ENTRIES } from '../states.js'
import type { InboxStats } from '../operations.js'
import type { InboxState } from '../states.js'
import { SHOWN_STATE } from './filter.js'
import { typesWithHandlers } from './look.js'
import { heldDeadRows } from './oldest-snapshot.js'
import type { BigInteger } from '../stored-entry.js'
import { search } from './search.js'
import type { Transaction } from './transaction.js'

/** How many entries are in each state. */
export async function stats(tx: Transaction): Promise<InboxStats> {
  const counts: Record<InboxState, number> = { ...NO_ENTRIES }
  for (const { state, count } of await tx.all<CountRow>(COUNTS, await typesWithHandlers(tx)))
    counts[state] = Number(count)
  return { counts, oldestUnfinishedAt: await oldestUnfinished(tx, counts), ...(await heldDeadRows(tx)) }
}

async function oldestUnfinished(
  tx: Transaction,
  counts: Readonly<Record<InboxState, number>>,
): Promise<Date | undefined> {
  // Without an unfinished entry, the search for the oldest one would read every unhandled entry.
  const states = UNFINISHED.filter((state) => counts[state] > 0)
  if (states.length === 0) return undefined
  const { entries } = await search(tx, { states }, { limit: 1 }, Infinity)
  return entries[0]?.receivedAt
}

const UNFINISHED = ['stored', 'running', 'retrying'] as const satisfies readonly InboxState[]

interface CountRow {
  readonly state: InboxState
  readonly count: BigInteger
}

// It is one statement, so that no entry is counted twice. Each part is materialized, so that several processes of the server can share
// it. What has ended is counted by an index alone.
const COUNTS = `
  WITH unfinished AS MATERIALIZED (SELECT ${SHOWN_STATE} AS state, count(*) AS count FROM due GROUP BY 1),
  others AS MATERIALIZED (SELECT state, count(*) AS count FROM ended GROUP BY 1)
  SELECT state, count FROM unfinished UNION ALL SELECT state, count FROM others`
