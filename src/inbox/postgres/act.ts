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
import { SHOWN_STATE } from './filter.js'
import { related, typesWithHandlers } from './look.js'
import { lockOrderKeys, promoteNext } from './order.js'
import { LATEST_RESULT, withPastAttempt } from './past-attempts.js'
import { advisoryLock } from './schema.js'
import { originalText, storedText } from './sql-text.js'
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
  if (action === 'release' && entry.shown_state === 'quarantined') await makeKnown(tx, row)
  const shown = { id, state: entry.shown_state }
  const refused = actionRefusal(action, shown, await related(tx, id), again)
  if (refused !== undefined) throw new ActRefused(refused)
  if (action === 'release') await tx.run(CALL_AS_SUBSCRIBED, row)
  await tx.run(action === 'discard' ? DISCARD : MAKE_DUE, row, MOVES[action].to, tx.now)
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
  // Before the update, because the signature is of a known entry until then.
  if (entry.known && !before.known) await tx.run(FORGET_SIGNATURE, row)
  const { dueAt, dueSetAt } = restoredDue(before, tx.now)
  await tx.run(
    RESTORE,
    row,
    before.state,
    storedText(before.eventType),
    dueAt,
    dueSetAt,
    before.attempts,
    before.replayed,
    restoredEnd(before, tx.now, entry.copies),
    before.known,
  )
}

/** No effect if its key or its signature belongs to another entry: repeats are then recognised by that entry. */
async function makeKnown(tx: Transaction, id: string): Promise<void> {
  if ((await tx.run(MAKE_KNOWN, id)) === 1) await tx.run(KNOW_SIGNATURE, id)
}

// As a text, because it uses all 64 bits: a driver that returns each bigint as a number would round it.
const ORDER_KEY = 'SELECT order_key::text FROM entries WHERE id = $1::bigint'
const STATE = `
  SELECT ${SHOWN_STATE} AS shown_state, ${ACTED_ON_COLUMNS}
  FROM entries WHERE id = $2::bigint FOR NO KEY UPDATE`
const LATEST = 'SELECT action, before FROM history WHERE entry_id = $1::bigint ORDER BY id DESC LIMIT 1'

// If another transaction stores the same key or signature meanwhile, this fails with unique_violation. The transaction is then
// run again, and sees that entry.
const MAKE_KNOWN = `
  UPDATE entries SET known = true WHERE id = $1::bigint AND NOT known
    AND NOT EXISTS (
      SELECT 1 FROM signatures WHERE signed_at = entries.signed_at AND signature = entries.signature
    )
    AND NOT EXISTS (
      SELECT 1 FROM entries AS other WHERE other.key_hash = entries.key_hash AND nullif(other.known, false)
    )`
const KNOW_SIGNATURE = `
  INSERT INTO signatures (signed_at, signature, entry_id, repeated)
  SELECT signed_at, signature, id, false FROM entries WHERE id = $1::bigint`

// The type in the header is not signed: what the signature proves is the subscription.
const CALL_AS_SUBSCRIBED = 'UPDATE entries SET event_type = subscribed_type WHERE id = $1::bigint'

const MAKE_DUE = `
  UPDATE entries SET state = $2::text, due_at = $3::bigint, due_set_at = $3::bigint, ready = order_key IS NULL,
    replayed = true, finished_at = NULL,
    past_attempts = CASE WHEN begun_at IS NULL THEN past_attempts
      ELSE ${withPastAttempt(LATEST_RESULT, 'handled_at')} END,
    begun_at = NULL, handled_at = NULL, attempts = 0
  WHERE id = $1::bigint`
const DISCARD = `
  UPDATE entries SET state = $2::text, due_at = NULL, ready = false, finished_at = $3::bigint WHERE id = $1::bigint`

const FORGET_SIGNATURE = `
  DELETE FROM signatures USING entries
  WHERE entries.id = $1::bigint AND signatures.signed_at = entries.signed_at
    AND signatures.signature = entries.signature AND signatures.entry_id = entries.id`
// Entries that share an order key become ready one after the other, by another statement.
const RESTORE = `
  UPDATE entries SET state = $2::text, event_type = $3::text, due_at = $4::bigint, due_set_at = $5::bigint,
    ready = $4::bigint IS NOT NULL AND order_key IS NULL, attempts = $6::integer, replayed = $7::boolean,
    finished_at = $8::bigint, known = $9::boolean
  WHERE id = $1::bigint`

const RECORD = `
  INSERT INTO history (entry_id, at, action, person, reason, before)
  VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text)`
