import { pastAttemptsOf } from '../attempt-history.js'
import { VERSIONS_PAGE, type CopiedEntry, type CopyMarks, type EntryVersion } from '../copy.js'
import type { StoredState } from '../states.js'
import { bufferOf, type BigInteger } from '../stored-entry.js'
import { sourceKey } from './arriving-rows.js'
import { wholeHeaders } from './common-headers.js'
import { wholeEntries } from './filter.js'
import { lockOrderKeys, promoteNext } from './order.js'
import { originalText, storedText } from './sql-text.js'
import { textKey, typeKey } from './text-key.js'
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
  readonly signature: string
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
  readonly key_hash: string
  readonly body_hash: string
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
  readonly common_headers: string | null
  readonly body: Uint8Array
}

interface RepeatRow {
  readonly entry_id: BigInteger
  readonly signature: string
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
    signature: base64OfUuid(row.signature),
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
    keyHash: base64OfUuid(row.key_hash),
    bodyHash: base64OfUuid(row.body_hash),
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
    headers: wholeHeaders({ common: row.common_headers, own: row.headers }),
    body: base64(row.body),
    repeats: repeats.map(({ signature, signed_at: signedAt }) => ({
      signature: base64OfUuid(signature),
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
  const { order, handledAt, begunAt } = entry
  // `ended` has no other time for the end of the attempt that succeeded.
  const isPast = handledAt !== null && handledAt !== entry.finishedAt
  const latest = [entry.attempts, begunAt, handledAt, 'handled', null, null]
  const past = entry.pastAttempts === null ? [] : pastAttemptsOf(entry.pastAttempts, storedText)
  const pastAttempts = isPast ? [...past, latest] : past
  const source = [
    storedText(entry.subscribedType),
    storedText(entry.callbackUrl),
    stored(entry.description),
    stored(entry.subscriptionId),
    entry.secretFingerprint,
    null,
  ]
  return {
    ...entry,
    begunAt: isPast ? null : begunAt,
    source: sourceKey(source),
    type: typeKey(entry.eventType),
    idempotencyKey: storedText(entry.idempotencyKey),
    eventType: storedText(entry.eventType),
    orderKey: order && orderKey(order),
    pastAttempts: pastAttempts.length === 0 ? null : pastAttempts,
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
  return 'hash' in order ? order.hash : textKey(order.text)
}

function base64OfUuid(uuid: string): string {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64')
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

const COMMON = `id, signature, signed_at, state, known, event_type, token, attempts, copies, replayed, finished_at, due_at`
const VERSIONS = `
  SELECT ${COMMON}, octet_length(body) AS body_bytes,
    (SELECT count(*) FROM entries AS repeat WHERE kind = 1 AND repeat_of = entries.id) AS repeats,
    (SELECT count(*) FROM history WHERE entry_id = entries.id) AS decisions
  FROM ${wholeEntries('true', { bounds: ['id > $1::bigint'] })} JOIN contents USING (id) ORDER BY id LIMIT $2::bigint`
const ENTRIES = `
  SELECT ${COMMON}, idempotency_key, key_hash, body_hash, coalesce(due_set_at, received_at) AS due_set_at, order_key::text, begun_by, begun_at, handled_at,
    past_attempts::text, received_at, reason, subscribed_type, callback_url, description, subscription_id,
    secret_fingerprint, body_id, trace_context, headers, common_headers, body
  FROM ${wholeEntries('entries.id = ANY ($1::bigint[])')} JOIN contents USING (id) ORDER BY id`
const REPEATS = `
  SELECT repeat_of AS entry_id, signature, signed_at FROM entries
  WHERE kind = 1 AND repeat_of = ANY ($1::bigint[]) ORDER BY signed_at`
const DECISIONS = `
  SELECT entry_id, at, action, person, reason, before FROM history WHERE entry_id = ANY ($1::bigint[]) ORDER BY id`

const CONTINUE_IDS = "SELECT setval('entries_id', greatest($1::bigint, (SELECT last_value FROM entries_id)))"
const REMEMBER_DELETED = `
  INSERT INTO deleted (only_row, signed_at) VALUES (1, $1::bigint)
  ON CONFLICT (only_row) DO UPDATE SET signed_at = greatest(deleted.signed_at, excluded.signed_at)`

const REMOVE = [
  'DELETE FROM entries WHERE kind = 1 AND repeat_of = ANY ($1::bigint[])',
  'DELETE FROM history WHERE entry_id = ANY ($1::bigint[])',
  ...['contents', 'copies', 'due', 'ended', 'entries'].map(
    (table) => `DELETE FROM ${table} WHERE id = ANY ($1::bigint[])`,
  ),
]

function uuidOf(base64: string): string {
  return `encode(decode(${base64}, 'base64'), 'hex')::uuid`
}

const WRITE = `
  WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS given (
      id bigint, state text, known boolean, "eventType" text, "idempotencyKey" text, "keyHash" text, "bodyHash" text,
      signature text, "dueAt" bigint, "dueSetAt" bigint, "orderKey" bigint, token integer, "begunBy" integer,
      attempts integer, "begunAt" bigint, "handledAt" bigint, "pastAttempts" jsonb, replayed boolean, copies integer,
      "signedAt" bigint, "receivedAt" bigint, "finishedAt" bigint, reason text, "subscribedType" text, "callbackUrl" text,
      description text, "subscriptionId" text, "secretFingerprint" text, "bodyId" text, "traceContext" text, headers text,
      body text, repeats json, decisions json, source bigint, type bigint
    )
  ),
  source AS (
    INSERT INTO sources (id, subscribed_type, callback_url, description, subscription_id, secret_fingerprint, last_signed_at)
    SELECT source, "subscribedType", "callbackUrl", description, "subscriptionId", "secretFingerprint", max("signedAt")
    FROM given GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1
    ON CONFLICT (id) DO UPDATE SET last_signed_at = greatest(sources.last_signed_at, excluded.last_signed_at)
  ),
  entry AS (
    INSERT INTO entries (id, kind, replayed, event_type, idempotency_key, key_hash, body_hash, signature, order_key, signed_at,
      received_at, source, body_id, repeat_of)
    SELECT id, CASE WHEN known THEN 0 ELSE 2 END, replayed, nullif("eventType", "subscribedType"), "idempotencyKey",
      ${uuidOf('"keyHash"')}, ${uuidOf('"bodyHash"')}, ${uuidOf('signature')}, "orderKey", "signedAt", "receivedAt", source, "bodyId", NULL
    FROM given
    UNION ALL
    SELECT -nextval('entries_id'), 1, false, NULL, NULL, NULL, NULL, ${uuidOf('repeat.signature')}, NULL, repeat."signedAt", NULL,
      NULL, NULL, id
    FROM given, json_to_recordset(repeats) AS repeat (signature text, "signedAt" bigint)
  ),
  unfinished AS (
    INSERT INTO due (id, type, due_at, due_set_at, begun_at, order_key, token, begun_by, attempts, ready, state, reason, past_attempts)
    SELECT id, type, "dueAt", coalesce("dueSetAt", "receivedAt"), "begunAt", "orderKey", token, "begunBy", attempts,
      "orderKey" IS NULL, state, reason, "pastAttempts"
    FROM given WHERE "dueAt" IS NOT NULL ORDER BY id
  ),
  others AS (
    INSERT INTO ended (id, at, begun_at, token, attempts, state, reason, past_attempts)
    SELECT id, coalesce("finishedAt", "receivedAt"), "begunAt", token, attempts, state, reason, "pastAttempts"
    FROM given WHERE "dueAt" IS NULL ORDER BY id
  ),
  copied AS (
    INSERT INTO copies (id, number) SELECT id, copies FROM given WHERE copies > 0 ORDER BY id
  ),
  content AS (
    INSERT INTO contents (id, trace_context, headers, body)
    SELECT id, "traceContext", headers, decode(body, 'base64') FROM given ORDER BY id
  )
  INSERT INTO history (entry_id, at, action, person, reason, before)
  SELECT given.id, decision.at, decision.action, decision.person, decision.reason, decision.before
  FROM given, json_to_recordset(decisions) AS decision (
    place integer, at bigint, action text, person text, reason text, before text
  )
  ORDER BY given.id, decision.place`
