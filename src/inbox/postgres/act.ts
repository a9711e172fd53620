import type { EntryId } from '../../callback/callback.js'
import type { ActResult, OperatorAction } from '../operations.js'
import { actionRefusal, missingRefusal, refusal, type ActRefusal } from '../operator-action.js'
import { MOVES, type InboxState } from '../states.js'
import { rowId } from './entry-id.js'
import { related, SHOWN_STATE, typesWithHandlers } from './look.js'
import { lockOrderKeys, promoteNext } from './order.js'
import type { BigInteger } from './row.js'
import { advisoryLock } from './schema.js'
import { storedText } from './sql-text.js'
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
 * An operator's decision on an entry.
 * @throws ActRefused
 */
export async function act(
  tx: Transaction,
  id: EntryId,
  action: OperatorAction,
  { by, again, schema }: { by: string; again: boolean; schema: string },
): Promise<ActResult> {
  const row = rowId(id)
  if (row === undefined) return missingRefusal(id)
  // Decisions are made one after the other: each depends on what became of the related entries.
  await tx.run('SELECT pg_advisory_xact_lock($1::bigint)', advisoryLock(schema, 'act').toString())
  const [fixed] = await tx.all<{ order_key: BigInteger | null }>(ORDER_KEY, row)
  if (!fixed) return missingRefusal(id)
  const orderKeys = fixed.order_key === null ? [] : [String(fixed.order_key)]
  await lockOrderKeys(tx, orderKeys, schema)
  const handled = await typesWithHandlers(tx)
  const [entry] = await tx.all<{ state: InboxState }>(STATE, handled, row)
  if (!entry) return missingRefusal(id)
  // Before the decision, because from here on an arrival with this key or signature waits for the end of this transaction.
  if (action === 'release' && entry.state === 'quarantined') await makeKnown(tx, row)
  if (action === 'undo')
    throw new ActRefused(refusal('state', `entry ${id} has no decision that could be taken back`))
  const refused = actionRefusal(action, { id, state: entry.state }, await related(tx, id), again)
  if (refused !== undefined) throw new ActRefused(refused)
  if (action === 'release') await tx.run(CALL_AS_SUBSCRIBED, row)
  const { to } = MOVES[action]
  await tx.run(action === 'discard' ? DISCARD : MAKE_DUE, row, to, tx.now)
  await tx.run(RECORD, row, tx.now, action, storedText(by))
  await promoteNext(tx, orderKeys)
  return { done: true }
}

/** No effect if its key or its signature belongs to another entry: repeats are then recognised by that entry. */
async function makeKnown(tx: Transaction, id: string): Promise<void> {
  if ((await tx.run(MAKE_KNOWN, id)) === 1) await tx.run(KNOW_SIGNATURE, id)
}

const ORDER_KEY = 'SELECT order_key FROM entries WHERE id = $1::bigint'
const STATE = `SELECT ${SHOWN_STATE} AS state FROM entries WHERE id = $2::bigint FOR UPDATE`

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
    attempts = 0, replayed = true, finished_at = NULL
  WHERE id = $1::bigint`
const DISCARD = `
  UPDATE entries SET state = $2::text, due_at = NULL, ready = false, finished_at = $3::bigint WHERE id = $1::bigint`
const RECORD = `
  INSERT INTO history (entry_id, at, action, person) VALUES ($1::bigint, $2::bigint, $3::text, $4::text)`
