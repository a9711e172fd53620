import type { EventTypes } from '../inbox.js'
import { MOVES } from '../states.js'
import { ORDINARY, readyTypes } from './claims.js'
import type { Connection } from './connection.js'
import { giveTurn } from './order.js'

/** Makes entries unhandled that an operator had retried or released, and for whose types there is no handler. */
export function setAside(db: Connection, eventTypes: EventTypes, dueBefore: number): number {
  if (eventTypes === 'any') return 0
  const rows = readyTypes(db, ORDINARY)
    .filter((type) => !eventTypes.includes(type))
    .flatMap((type) => db.all<WaitingRow>(WAITING, type, dueBefore, LOOKED_AT))
    .filter(({ state, replayed }) => state === 'stored' && replayed === 1)
  for (const { id, order_key: orderKey } of rows) {
    db.run(SET_ASIDE, MOVES.setAside.to, id)
    if (orderKey !== null) giveTurn(db, orderKey)
  }
  return rows.length
}

interface WaitingRow {
  readonly id: number
  readonly state: string
  readonly replayed: 0 | 1
  readonly order_key: string | null
}

/** How many entries of a type are looked at in one step: another process may be about to handle thousands of them. */
const LOOKED_AT = 500

const WAITING = `
  SELECT id, state, replayed, order_key FROM entries
  WHERE ready = 1 AND begun_by = 0 AND event_type = ? AND due_at < ? ORDER BY due_at LIMIT ?`

const SET_ASIDE = 'UPDATE entries SET state = ?, due_at = NULL, ready = 0 WHERE id = ?'
