import type { EventTypes } from '../inbox.js'
import { MOVES } from '../states.js'
import { readyTypes, REPLAYED } from './claims.js'
import type { Connection } from './connection.js'
import { promoteNext } from './order.js'

/** Makes entries unhandled that an operator had retried or released, and for whose types there is no handler. */
export function markUnhandled(db: Connection, eventTypes: EventTypes, dueBefore: number): number {
  if (eventTypes === 'any') return 0
  const rows = readyTypes(db, REPLAYED)
    .filter((type) => !eventTypes.includes(type))
    .flatMap((type) => db.all<{ id: number }>(REPLAYED.due, type, dueBefore - 1, STEP))
  for (const { id } of rows) {
    const { order_key: orderKey } = db.get<{ order_key: string | null }>(
      MARK_UNHANDLED,
      MOVES.markUnhandled.to,
      id,
    )!
    if (orderKey !== null) promoteNext(db, orderKey)
  }
  return rows.length
}

/** How many entries of a type are changed in one step: other processes wait for it. */
const STEP = 500

const MARK_UNHANDLED =
  'UPDATE entries SET state = ?, due_at = NULL, ready = 0 WHERE id = ? RETURNING order_key'
