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
  let notHandled = 0
  for (const { state, count } of await tx.all<CountRow>(COUNTS, await typesWithHandlers(tx))) {
    counts[state] = Number(count)
    notHandled += Number(count)
  }
  const [row] = await tx.all<{ total: BigInteger }>(TOTAL)
  counts.handled = Number(row!.total) - notHandled
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

// Only entries that wait can be unhandled. The others are counted by the index on the states alone. It is one statement, so that no
// entry is counted twice. Each part is materialized, so that several processes of the server can share it.
const COUNTS = `
  WITH waiting AS MATERIALIZED (
    SELECT ${SHOWN_STATE} AS state, count(*) AS count FROM entries
    WHERE state <> 'handled' AND state IN ('stored', 'retrying') GROUP BY 1
  ),
  others AS MATERIALIZED (
    SELECT state, count(*) AS count FROM entries
    WHERE state <> 'handled' AND state IN ('running', 'dead', 'quarantined', 'discarded') GROUP BY 1
  )
  SELECT state, count FROM waiting UNION ALL SELECT state, count FROM others`

const TOTAL = 'SELECT count(*) AS total FROM entries'
