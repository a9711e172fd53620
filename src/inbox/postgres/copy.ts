import { pastAttemptsOf } from '../attempt-history.js'
import { VERSIONS_PAGE, type CopiedEntry, type CopyMarks, type EntryVersion } from '../copy.js'
import type { StoredState } from '../states.js'
import { bufferOf, type BigInteger } from '../stored-entry.js'
import { lockOrderKeys, orderKeyOf, promoteNext } from './order.js'
import { originalText, storedText } from './sql-text.js'
import type { Transaction } from './transaction.js'

// The steps of a copy: see ../copy.ts, Copying.

export async function marks(tx: Transaction): Promise<CopyMarks> {
  const [row] = await tx.all<{ last_id: BigInteger | null; deleted_until: BigInteger | null }>(MARKS)
  return { lastId: Number(row!.last_id ?? 0), deletedUntil: numberOf(row!.deleted_until) }
}

export async function versions(tx: Transaction, afterId: number): Promise<EntryVersion[]> {
  const rows = await tx.all<VersionRow>(VERSIONS, afterId, VERSIONS_PAGE)
  return rows.map((row) => ({
    ...versionOf(row),
    repeats: Number(row.repeats),
    decisions: Number(row.decisions),
    bodyBytes: row.body_bytes,
  }))
}

export async function readEntries(tx: Transaction, ids: readonly number[]): Promise<CopiedEntry[]> {
  const rows = await tx.all<EntryRow>(ENTRIES, ids)
  const repeats = await tx.all<RepeatRow>(REPEATS, ids)
  const decisions = await tx.all<DecisionRow>(DECISIONS, ids)
  return rows.map((row) => {
    const isOfEntry = ({ entry_id: id }: { readonly entry_id: BigInteger }) => Number(id) === Number(row.id)
    return copiedEntry(row, repeats.filter(isOfEntry), decisions.filter(isOfEntry))
  })
}

export async function mark(tx: Transaction, { lastId, deletedUntil }: CopyMarks): Promise<void> {
  // A sequence of a schema that is up to date, which may have given larger ids already.
  if (lastId > 0) await tx.run(CONTINUE_IDS, lastId)
  if (deletedUntil !== null) await tx.run(REMEMBER_DELETED, deletedUntil)
}

export async function removeEntries(tx: Transaction, ids: readonly number[]): Promise<void> {
  for (const sql of REMOVE) await tx.run(sql, ids)
}

export async function writeEntries(
  tx: Transaction,
  entries: readonly CopiedEntry[],
  schema: string,
): Promise<void> {
  const orderKeys = [...new Set(entries.flatMap(({ order }) => (order ? orderKey(order) : [])))]
  await lockOrderKeys(tx, orderKeys, schema)
  await tx.run(WRITE, JSON.stringify(entries.map(rowOf)))
  await promoteNext(tx, orderKeys)
}

interface CommonRow {
  readonly id: BigInteger
  readonly signature: Uint8Array
  readonly signed_at: BigInteger
  readonly state: StoredState
  readonly known: boolean
  readonly event_type: string
  readonly token: number
  readonly attempts: number
  readonly copies: number
  readonly replayed: boolean
  readonly finished_at: BigInteger | null
  readonly due_at: BigInteger | null
}

interface VersionRow extends CommonRow {
  readonly repeats: BigInteger
  readonly decisions: BigInteger
  readonly body_bytes: number
}

interface EntryRow extends CommonRow {
  readonly idempotency_key: string
  readonly key_hash: Uint8Array
  readonly body_hash: Uint8Array
  readonly due_set_at: BigInteger
  readonly order_key: string | null
  readonly begun_by: number
  readonly begun_at: BigInteger | null
  readonly handled_at: BigInteger | null
  readonly past_attempts: string | null
  readonly received_at: BigInteger
  readonly reason: string | null
  readonly subscribed_type: string
  readonly callback_url: string
  readonly description: string | null
  readonly subscription_id: string | null
  readonly secret_fingerprint: string
  readonly body_id: string | null
  readonly trace_context: string | null
  readonly headers: string | null
  readonly body: Uint8Array
}

interface RepeatRow {
  readonly entry_id: BigInteger
  readonly signature: Uint8Array
  readonly signed_at: BigInteger
}

interface DecisionRow {
  readonly entry_id: BigInteger
  readonly at: BigInteger
  readonly action: string
  readonly person: string
  readonly reason: string | null
  readonly before: string | null
}

function versionOf(row: CommonRow) {
  const { state } = row
  return {
    id: Number(row.id),
    signature: base64(row.signature),
    signedAt: Number(row.signed_at),
    state: state === 'running' ? ('stored' as const) : state,
    known: row.known,
    eventType: originalText(row.event_type),
    token: row.token,
    attempts: row.attempts,
    copies: row.copies,
    replayed: row.replayed,
    finishedAt: numberOf(row.finished_at),
    dueAt: numberOf(row.due_at),
  }
}

function copiedEntry(
  row: EntryRow,
  repeats: readonly RepeatRow[],
  decisions: readonly DecisionRow[],
): CopiedEntry {
  return {
    ...versionOf(row),
    idempotencyKey: originalText(row.idempotency_key),
    keyHash: base64(row.key_hash),
    bodyHash: base64(row.body_hash),
    dueSetAt: Number(row.due_set_at),
    order: row.order_key === null ? null : { hash: row.order_key },
    begunBy: row.begun_by,
    begunAt: numberOf(row.begun_at),
    handledAt: numberOf(row.handled_at),
    pastAttempts: row.past_attempts && JSON.stringify(pastAttemptsOf(row.past_attempts, originalText)),
    receivedAt: Number(row.received_at),
    reason: original(row.reason),
    subscribedType: originalText(row.subscribed_type),
    callbackUrl: originalText(row.callback_url),
    description: original(row.description),
    subscriptionId: original(row.subscription_id),
    secretFingerprint: originalText(row.secret_fingerprint),
    bodyId: original(row.body_id),
    traceContext: original(row.trace_context),
    headers: row.headers,
    body: base64(row.body),
    repeats: repeats.map(({ signature, signed_at: signedAt }) => ({
      signature: base64(signature),
      signedAt: Number(signedAt),
    })),
    decisions: decisions.map(({ at, action, person, reason, before }) => ({
      at: Number(at),
      action,
      person: originalText(person),
      reason: original(reason),
      before,
    })),
  }
}

/** The texts as they are stored; `WRITE` makes bytes of those in Base64. */
function rowOf(entry: CopiedEntry): object {
  const { pastAttempts, order } = entry
  return {
    ...entry,
    idempotencyKey: storedText(entry.idempotencyKey),
    eventType: storedText(entry.eventType),
    orderKey: order && orderKey(order),
    pastAttempts: pastAttempts && pastAttemptsOf(pastAttempts, storedText),
    reason: stored(entry.reason),
    subscribedType: storedText(entry.subscribedType),
    callbackUrl: storedText(entry.callbackUrl),
    description: stored(entry.description),
    subscriptionId: stored(entry.subscriptionId),
    bodyId: stored(entry.bodyId),
    traceContext: stored(entry.traceContext),
    decisions: entry.decisions.map((decision, place) => ({
      ...decision,
      place,
      person: storedText(decision.person),
      reason: stored(decision.reason),
    })),
  }
}

function orderKey(order: NonNullable<CopiedEntry['order']>): string {
  return 'hash' in order ? order.hash : orderKeyOf(order.text)
}

function base64(bytes: Uint8Array): string {
  return bufferOf(bytes).toString('base64')
}

function numberOf(integer: BigInteger | null): number | null {
  return integer === null ? null : Number(integer)
}

function original(text: string | null): string | null {
  return text === null ? null : originalText(text)
}

function stored(text: string | null): string | null {
  return text === null ? null : storedText(text)
}

const MARKS =
  'SELECT (SELECT max(id) FROM entries) AS last_id, (SELECT signed_at FROM deleted) AS deleted_until'

const COMMON = `id, signature, signed_at, state, known, event_type, token, attempts, copies, replayed, finished_at,
    coalesce(due_at, lease_until) AS due_at`
const VERSIONS = `
  SELECT ${COMMON}, octet_length(body) AS body_bytes,
    (SELECT count(*) FROM signatures WHERE repeated AND entry_id = entries.id) AS repeats,
    (SELECT count(*) FROM history WHERE entry_id = entries.id) AS decisions
  FROM entries JOIN contents USING (id) WHERE id > $1::bigint ORDER BY id LIMIT $2::bigint`
const ENTRIES = `
  SELECT ${COMMON}, idempotency_key, key_hash, body_hash, due_set_at, order_key::text, begun_by, begun_at, handled_at,
    past_attempts::text, received_at, reason, subscribed_type, callback_url, description, subscription_id,
    secret_fingerprint, body_id, trace_context, headers, body
  FROM entries JOIN contents USING (id) WHERE id = ANY ($1::bigint[]) ORDER BY id`
const REPEATS = `
  SELECT entry_id, signature, signed_at FROM signatures
  WHERE repeated AND entry_id = ANY ($1::bigint[]) ORDER BY signed_at`
const DECISIONS = `
  SELECT entry_id, at, action, person, reason, before FROM history WHERE entry_id = ANY ($1::bigint[]) ORDER BY id`

const CONTINUE_IDS = "SELECT setval('entries_id', greatest($1::bigint, (SELECT last_value FROM entries_id)))"
const REMEMBER_DELETED = `
  INSERT INTO deleted (only_row, signed_at) VALUES (1, $1::bigint)
  ON CONFLICT (only_row) DO UPDATE SET signed_at = greatest(deleted.signed_at, excluded.signed_at)`

const REMOVE = [
  `DELETE FROM signatures USING entries
  WHERE entries.id = ANY ($1::bigint[]) AND signatures.signed_at = entries.signed_at
    AND signatures.signature = entries.signature AND signatures.entry_id = entries.id`,
  'DELETE FROM signatures WHERE repeated AND entry_id = ANY ($1::bigint[])',
  'DELETE FROM history WHERE entry_id = ANY ($1::bigint[])',
  'DELETE FROM contents WHERE id = ANY ($1::bigint[])',
  'DELETE FROM entries WHERE id = ANY ($1::bigint[])',
]

/** Each column of an entry, with its value in a row of `given`. */
const COLUMNS: Readonly<Record<string, string>> = {
  id: 'id',
  state: 'state',
  known: 'known',
  event_type: '"eventType"',
  idempotency_key: '"idempotencyKey"',
  key_hash: `decode("keyHash", 'base64')`,
  body_hash: `decode("bodyHash", 'base64')`,
  signature: `decode(signature, 'base64')`,
  due_at: '"dueAt"',
  due_set_at: `coalesce("dueSetAt", "receivedAt")`,
  order_key: '"orderKey"',
  ready: `"dueAt" IS NOT NULL AND "orderKey" IS NULL`,
  interrupted: `"dueAt" IS NOT NULL AND "begunBy" > 0`,
  token: 'token',
  begun_by: '"begunBy"',
  attempts: 'attempts',
  begun_at: '"begunAt"',
  handled_at: '"handledAt"',
  past_attempts: '"pastAttempts"',
  replayed: 'replayed',
  copies: 'copies',
  signed_at: '"signedAt"',
  received_at: '"receivedAt"',
  finished_at: '"finishedAt"',
  reason: 'reason',
  subscribed_type: '"subscribedType"',
  callback_url: '"callbackUrl"',
  description: 'description',
  subscription_id: '"subscriptionId"',
  secret_fingerprint: '"secretFingerprint"',
  body_id: '"bodyId"',
}

const WRITE = `
  WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS given (
      id bigint, state text, known boolean, "eventType" text, "idempotencyKey" text, "keyHash" text, "bodyHash" text,
      signature text, "dueAt" bigint, "dueSetAt" bigint, "orderKey" bigint, token integer, "begunBy" integer,
      attempts integer, "begunAt" bigint, "handledAt" bigint, "pastAttempts" jsonb, replayed boolean, copies integer,
      "signedAt" bigint, "receivedAt" bigint, "finishedAt" bigint, reason text, "subscribedType" text, "callbackUrl" text,
      description text, "subscriptionId" text, "secretFingerprint" text, "bodyId" text, "traceContext" text, headers text,
      body text, repeats json, decisions json
    )
  ),
  entry AS (
    INSERT INTO entries (${Object.keys(COLUMNS).join(', ')})
    SELECT ${Object.values(COLUMNS).join(', ')} FROM given ORDER BY id
  ),
  content AS (
    INSERT INTO contents (id, trace_context, headers, body)
    SELECT id, "traceContext", headers, decode(body, 'base64') FROM given ORDER BY id
  ),
  signed AS (
    INSERT INTO signatures (signed_at, signature, entry_id, repeated)
    SELECT "signedAt", decode(signature, 'base64'), id, false FROM given WHERE known
    UNION ALL
    SELECT repeat."signedAt", decode(repeat.signature, 'base64'), id, true
    FROM given, json_to_recordset(repeats) AS repeat (signature text, "signedAt" bigint)
  )
  INSERT INTO history (entry_id, at, action, person, reason, before)
  SELECT given.id, decision.at, decision.action, decision.person, decision.reason, decision.before
  FROM given, json_to_recordset(decisions) AS decision (
    place integer, at bigint, action text, person text, reason text, before text
  )
  ORDER BY given.id, decision.place`
