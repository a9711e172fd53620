import type { EntryId } from '../../callback/callback.js'
import type { ActResult, OperatorAction, OperatorDecision } from '../operations.js'
import {
  actionRefusal,
  changedRefusal,
  missingRefusal,
  type ActRefusal,
  type Decision,
} from '../operator-action.js'
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
import { rowId } from './entry-id.js'
import { SHOWN_STATE, wholeEntries } from './filter.js'
import { related, typesWithHandlers } from './look.js'
import { lockOrderKeys, promoteNext } from './order.js'
import { withPastAttempt } from './past-attempts.js'
import { advisoryLock } from './schema.js'
import { originalText, storedText } from './sql-text.js'
import { typeKey } from './text-key.js'
import type { Transaction } from './transaction.js'

/** Thrown to undo what was done before the refusal was known. */
export class ActRefused extends Error {
  readonly refusal: ActRefusal

  constructor(refusal: ActRefusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/**
 * Carries out an operator's decision on an entry, and records it.
 * @throws ActRefused
 */
export async function act(
  tx: Transaction,
  id: EntryId,
  action: OperatorAction,
  decision: Decision,
  schema: string,
): Promise<ActResult> {
  const row = rowId(id)
  if (row === undefined) return missingRefusal(id)
  // Decisions are made one after the other: each depends on what became of the related entries.
  await tx.run('SELECT pg_advisory_xact_lock($1::bigint)', advisoryLock(schema, 'act').toString())
  const [fixed] = await tx.all<{ order_key: string | null }>(ORDER_KEY, row)
  if (!fixed) return missingRefusal(id)
  const orderKeys = fixed.order_key === null ? [] : [fixed.order_key]
  await lockOrderKeys(tx, orderKeys, schema)
  for (const lock of LOCK) await tx.run(lock, row)
  const [entry] = await tx.all<ShownActedOnRow>(STATE, await typesWithHandlers(tx), row)
  if (!entry) return missingRefusal(id)
  const { by, reason, again, expected } = decision
  const changed = changedRefusal({ id, ...seenEntry(entry, entry.shown_state) }, expected)
  if (changed !== undefined) return changed
  const before = action === 'undo' ? undefined : entryBefore(entry, tx.now, originalText)
  if (action === 'undo') await undo(tx, { id, row, entry, again })
  else await decide(tx, action, { id, row, entry, again })
  await tx.run(
    RECORD,
    row,
    tx.now,
    action,
    storedText(by),
    reason === undefined ? null : storedText(reason),
    before === undefined ? null : JSON.stringify(before),
  )
  await promoteNext(tx, orderKeys)
  return { done: true }
}

interface ShownActedOnRow extends ActedOnRow {
  readonly subscribed_type: string
  readonly shown_state: InboxState
}

interface ActedOn {
  readonly id: EntryId
  readonly row: string
  readonly entry: ShownActedOnRow
  readonly again: boolean
}

async function decide(tx: Transaction, action: OperatorDecision, { id, row, entry, again }: ActedOn) {
  // Before the decision, because from here on an arrival with this key or signature waits for the end of this transaction.
  if (action === 'release' && entry.shown_state === 'quarantined') await tx.run(MAKE_KNOWN, row)
  const shown = { id, state: entry.shown_state }
  const refused = actionRefusal(action, shown, await related(tx, id), again)
  if (refused !== undefined) throw new ActRefused(refused)
  if (action === 'discard') return tx.run(MAKE_ENDED, row, MOVES[action].to, entry.attempts, tx.now)
  // The type in the header is not signed: what the signature proves is the subscription.
  const eventType = action === 'release' ? entry.subscribed_type : entry.event_type
  await tx.run(CHANGE, row, eventType, true, null)
  return tx.run(MAKE_DUE, row, MOVES[action].to, 0, typeKey(originalText(eventType)), tx.now, tx.now)
}

async function undo(tx: Transaction, { id, row, entry, again }: ActedOn): Promise<void> {
  const [latest] = await tx.all<StoredDecision>(LATEST, row)
  const before = undoneDecision(
    { id, state: entry.state, token: entry.token, copies: entry.copies, known: Boolean(entry.known) },
    latest && decisionIn(latest),
    await related(tx, id),
    again,
  )
  if (isRefusal(before)) throw new ActRefused(before)
  const { state, attempts, eventType, replayed, known } = before
  await tx.run(CHANGE, row, storedText(eventType), replayed, known)
  const { dueAt, dueSetAt } = restoredDue(before, tx.now)
  if (dueAt !== null) await tx.run(MAKE_DUE, row, state, attempts, typeKey(eventType), dueAt, dueSetAt)
  else await tx.run(MAKE_ENDED, row, state, attempts, restoredEnd(before, tx.now, entry.copies))
}

// As a text, because it uses all 64 bits: a driver that returns each bigint as a number would round it.
const ORDER_KEY = 'SELECT order_key::text FROM entries WHERE id = $1::bigint'
// Waits for the transaction of a handler, and then sees what became of the entry.
const LOCK = ['due', 'ended'].map((table) => `SELECT FROM ${table} WHERE id = $1::bigint FOR UPDATE`)
const STATE = `
  SELECT ${SHOWN_STATE} AS shown_state, subscribed_type, ${ACTED_ON_COLUMNS}
  FROM ${wholeEntries('entries.id = $2::bigint')}`
const LATEST = 'SELECT action, before FROM history WHERE entry_id = $1::bigint ORDER BY id DESC LIMIT 1'

// No effect if its key or its signature belongs to another entry: repeats are then recognised by that entry.
// If another transaction stores the same key or signature meanwhile, this fails with unique_violation. The transaction is then
// run again, and sees that entry.
const MAKE_KNOWN = `
  UPDATE entries SET kind = 0 WHERE id = $1::bigint AND kind = 2
    AND NOT EXISTS (
      SELECT 1 FROM entries AS other
      WHERE other.signed_at = entries.signed_at AND other.signature = entries.signature AND other.kind <= 1
    )
    AND NOT EXISTS (SELECT 1 FROM entries AS other WHERE other.key_hash = entries.key_hash AND other.kind = 0)`

const CHANGE = `
  UPDATE entries SET event_type = nullif($2::text, (SELECT subscribed_type FROM sources WHERE sources.id = source)),
    replayed = $3::boolean, kind = CASE $4::boolean WHEN true THEN 0 WHEN false THEN 2 ELSE kind END
  WHERE id = $1::bigint`

// An entry has a row in one of the two tables.
const TAKEN = `
  WITH unfinished AS (DELETE FROM due WHERE id = $1::bigint RETURNING *),
  others AS (DELETE FROM ended WHERE id = $1::bigint RETURNING *),
  taken AS (
    SELECT id, token, attempts, begun_at, reason, past_attempts, NULL::bigint AS handled_at FROM unfinished
    UNION ALL
    SELECT id, token, attempts, begun_at, reason, past_attempts, CASE WHEN state = 'handled' THEN at END FROM others
  )`
// Entries that share an order key become ready one after the other, by another statement.
const MAKE_DUE = `${TAKEN}
  INSERT INTO due (id, type, due_at, due_set_at, order_key, token, begun_by, attempts, ready, state, reason, past_attempts)
  SELECT id, $4::bigint, $5::bigint, $6::bigint, order_key, token,
    CASE WHEN begun_at IS NOT NULL AND handled_at IS NULL THEN token ELSE 0 END, $3::integer, order_key IS NULL, $2::text, reason,
    CASE WHEN begun_at IS NULL THEN past_attempts
      ELSE ${withPastAttempt("CASE WHEN handled_at IS NULL THEN 'interrupted' ELSE 'handled' END", 'handled_at')} END
  FROM taken JOIN entries USING (id)`
const MAKE_ENDED = `${TAKEN}
  INSERT INTO ended (id, at, begun_at, token, attempts, state, reason, past_attempts)
  SELECT id, coalesce($4::bigint, received_at), begun_at, token, $3::integer, $2::text, reason, past_attempts
  FROM taken JOIN entries USING (id)`

const RECORD = `
  INSERT INTO history (entry_id, at, action, person, reason, before)
  VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text)`
