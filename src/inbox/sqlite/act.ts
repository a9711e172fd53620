import type { EntryId } from '../../callback/callback.js'
import type { ActResult, OperatorAction, OperatorDecision } from '../operations.js'
import { actionRefusal, changedRefusal, missingRefusal, type Decision } from '../operator-action.js'
import { MOVES, type InboxState } from '../states.js'
import { ACTED_ON_COLUMNS, entryBefore, seenEntry, type ActedOnRow } from '../stored-entry.js'
import {
  isRefusal,
  decisionIn,
  restoredDue,
  restoredEnd,
  type StoredDecision,
  undoneDecision,
} from '../undo.js'
import type { Connection } from './connection.js'
import { shownState, unhandledTypes } from './handled-types.js'
import { related } from './operator.js'
import { promoteNext } from './order.js'
import { withPastAttempt } from './past-attempts.js'
import { entryIdOf, rowIdOf } from './row-id.js'

/** Carries out an operator's decision on an entry, and records it. */
export function act(
  db: Connection,
  now: number,
  entryId: EntryId,
  action: OperatorAction,
  decision: Decision,
): ActResult {
  const id = rowIdOf(entryId)
  const entry = id === undefined ? undefined : db.get<OrderedRow>(ACTED_ON, id)
  if (!entry) return missingRefusal(entryId)
  const { by, reason = null, again, expected } = decision
  const state = shownState(entry, unhandledTypes(db))
  const changed = changedRefusal({ id: entryId, ...seenEntry(entry, state) }, expected)
  if (changed !== undefined) return changed
  const before =
    action === 'undo' ? undo(db, entry, again, now) : decide(db, { entry, state }, action, again, now)
  if (isRefusal(before)) return before
  const kept = action === 'undo' ? null : JSON.stringify(before)
  db.run(RECORD, entry.id, now, action, by, reason, kept)
  if (entry.order_key !== null) promoteNext(db, entry.order_key)
  return { done: true }
}

/** Returns the fields of the entry before the decision, or why the decision is refused. */
function decide(
  db: Connection,
  { entry, state }: { readonly entry: OrderedRow; readonly state: InboxState },
  action: OperatorDecision,
  again: boolean,
  now: number,
) {
  const { id } = entry
  const entryId = entryIdOf(id)
  const refusal = actionRefusal(action, { id: entryId, state }, related(db, entryId), again)
  if (refusal !== undefined) return refusal
  if (action === 'release') {
    db.run(MAKE_KNOWN, id)
    db.run(CALL_AS_SUBSCRIBED, id)
  }
  db.run(action === 'discard' ? DISCARD : MAKE_DUE, MOVES[action].to, now, id)
  return entryBefore(entry, now)
}

/** Returns the restored fields, or why undo is refused. */
function undo(db: Connection, entry: OrderedRow, again: boolean, now: number) {
  const { id, state, token, copies } = entry
  const entryId = entryIdOf(id)
  const latest = db.get<StoredDecision>(LATEST, id)
  const before = undoneDecision(
    { id: entryId, state, token, copies, known: entry.known === 1 },
    latest && decisionIn(latest),
    related(db, entryId),
    again,
  )
  if (isRefusal(before)) return before
  const { dueAt, dueSetAt } = restoredDue(before, now)
  db.run(
    RESTORE,
    before.state,
    before.eventType,
    dueAt,
    dueSetAt,
    before.attempts,
    before.replayed ? 1 : 0,
    restoredEnd(before, now, copies),
    before.known ? 1 : 0,
    id,
  )
  return before
}

interface OrderedRow extends ActedOnRow {
  readonly id: number
  readonly order_key: string | null
}

const ACTED_ON = `SELECT id, order_key, ${ACTED_ON_COLUMNS} FROM entries WHERE id = ?`

const LATEST = 'SELECT action, before FROM history WHERE entry_id = ? ORDER BY id DESC LIMIT 1'

const RECORD = 'INSERT INTO history (entry_id, at, action, person, reason, before) VALUES (?, ?, ?, ?, ?, ?)'

/** It has no effect if another entry is known by the same key or signature. Repeats are then recognised by that entry. */
const MAKE_KNOWN = `
  UPDATE OR IGNORE entries SET known = 1
  WHERE id = ? AND NOT EXISTS (SELECT 1 FROM more_signatures WHERE signature = entries.signature)`

// The event type in the header is not signed. The signature proves only the subscription.
const CALL_AS_SUBSCRIBED =
  'UPDATE entries SET event_type = (SELECT subscribed_type FROM sources WHERE number = source) WHERE id = ?'

const MAKE_DUE = `
  UPDATE entries SET
    state = ?1, due_at = ?2, due_set_at = ?2, ready = order_key IS NULL, replayed = 1, finished_at = NULL,
    past_attempts = CASE WHEN begun_at IS NULL THEN past_attempts
      ELSE ${withPastAttempt("iif(handled_at IS NULL, 'interrupted', 'handled')", 'handled_at')} END,
    begun_at = NULL, handled_at = NULL, attempts = 0
  WHERE id = ?3`

const DISCARD = 'UPDATE entries SET state = ?, due_at = NULL, ready = 0, finished_at = ? WHERE id = ?'

// Entries that share an order key become ready one after the other: `promoteNext` does that.
const RESTORE = `
  UPDATE entries SET
    state = ?1, event_type = ?2, due_at = ?3, due_set_at = ?4, ready = ?3 IS NOT NULL AND order_key IS NULL,
    attempts = ?5, replayed = ?6, finished_at = ?7, known = ?8
  WHERE id = ?9`
