import type { PastAttempt } from '../attempt-history.js'
import { VERSIONS_PAGE, type CopiedEntry, type CopyMarks, type EntryVersion } from '../copy.js'
import { sourceKey } from './arriving-rows.js'
import { wholeHeaders } from './common-headers.js'
import { wholeEntries } from './filter.js'
import { lockOrderKeys, promoteNext } from './order.js'
import { originalText, storedText } from './sql-text.js'
import { textKey, typeKey } from './text-key.js'
import type { Transaction } from './transaction.js'

// The steps of a copy: see ../copy.ts, Copying.

export async function marks(tx: Transaction): Promise<CopyMarks> {
  const [row] = await rowsOf<CopyMarks>(tx, MARKS)
  return row!
}

export function versions(tx: Transaction, afterId: number): Promise<EntryVersion[]> {
  return rowsOf<EntryVersion>(tx, VERSIONS, afterId, VERSIONS_PAGE)
}

export async function readEntries(tx: Transaction, ids: readonly number[]): Promise<CopiedEntry[]> {
  const rows = await rowsOf<EntryRow>(tx, ENTRIES, ids)
  return rows.map(({ commonHeaders, headers, pastAttempts, ...row }) => ({
    ...row,
    headers: wholeHeaders({ common: commonHeaders, own: headers }),
    pastAttempts: pastAttempts && JSON.stringify(pastAttempts),
  }))
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
  await tx.run(WRITE, JSON.stringify(entries.map(rowOf), withTexts(storedText)))
  await promoteNext(tx, orderKeys)
}

interface EntryRow extends Omit<CopiedEntry, 'pastAttempts'> {
  readonly pastAttempts: readonly PastAttempt[] | null
  readonly commonHeaders: string | null
}

/** The rows of a SELECT, as JSON: it tells numbers from texts, which a driver does as its user has told it. */
async function rowsOf<Row>(tx: Transaction, sql: string, ...values: unknown[]): Promise<Row[]> {
  const select = `SELECT row_to_json(found)::text AS json FROM (${sql}) AS found`
  const rows = await tx.all<{ json: string }>(select, ...values)
  return rows.map(({ json }) => JSON.parse(json, withTexts(originalText)) as Row)
}

/** JSON within a text has no character that `textOf` changes, and neither has Base64. */
function withTexts(textOf: (text: string) => string): (name: string, value: unknown) => unknown {
  return (_, value) => (typeof value === 'string' ? textOf(value) : value)
}

function rowOf(entry: CopiedEntry): object {
  const { order, handledAt, begunAt } = entry
  // `ended` has no other time for the end of the attempt that succeeded.
  const isPast = handledAt !== null && handledAt !== entry.finishedAt
  const latest = [entry.attempts, begunAt, handledAt, 'handled', null, null]
  const past = entry.pastAttempts === null ? [] : (JSON.parse(entry.pastAttempts) as readonly PastAttempt[])
  const pastAttempts = isPast ? [...past, latest] : past
  const { subscribedType, callbackUrl, description, subscriptionId, secretFingerprint } = entry
  const source = [subscribedType, callbackUrl, description, subscriptionId, secretFingerprint, null]
  return {
    ...entry,
    begunAt: isPast ? null : begunAt,
    source: sourceKey(source.map((text) => text && storedText(text))),
    type: typeKey(entry.eventType),
    orderKey: order && orderKey(order),
    pastAttempts: pastAttempts.length === 0 ? null : pastAttempts,
    decisions: entry.decisions.map((decision, place) => ({ ...decision, place })),
  }
}

function orderKey(order: NonNullable<CopiedEntry['order']>): string {
  return 'hash' in order ? order.hash : textKey(order.text)
}

const MARKS = `
  SELECT (SELECT coalesce(max(id), 0) FROM entries) AS "lastId", (SELECT signed_at FROM deleted) AS "deletedUntil"`

function base64Of(uuid: string): string {
  return `encode(uuid_send(${uuid}), 'base64')`
}

const COMMON = `
    id, ${base64Of('signature')} AS signature, signed_at AS "signedAt", CASE state WHEN 'running' THEN 'stored' ELSE state END AS state,
    known, event_type AS "eventType", token, attempts, copies, replayed, finished_at AS "finishedAt", due_at AS "dueAt"`
const VERSIONS = `
  SELECT ${COMMON}, octet_length(body) AS "bodyBytes",
    (SELECT count(*) FROM entries AS repeat WHERE kind = 1 AND repeat_of = entries.id) AS repeats,
    (SELECT count(*) FROM history WHERE entry_id = entries.id) AS decisions
  FROM ${wholeEntries('true', { bounds: ['id > $1::bigint'] })} JOIN contents USING (id) ORDER BY id LIMIT $2::bigint`
// The order key as a text, because it uses all 64 bits.
const ENTRIES = `
  SELECT ${COMMON}, idempotency_key AS "idempotencyKey", ${base64Of('key_hash')} AS "keyHash", ${base64Of('body_hash')} AS "bodyHash",
    coalesce(due_set_at, received_at) AS "dueSetAt", begun_by AS "begunBy", begun_at AS "begunAt", handled_at AS "handledAt",
    CASE WHEN order_key IS NOT NULL THEN json_build_object('hash', order_key::text) END AS "order",
    past_attempts AS "pastAttempts", received_at AS "receivedAt", reason, subscribed_type AS "subscribedType",
    callback_url AS "callbackUrl", description, subscription_id AS "subscriptionId", secret_fingerprint AS "secretFingerprint",
    body_id AS "bodyId", trace_context AS "traceContext", headers, common_headers AS "commonHeaders",
    translate(encode(body, 'base64'), E'\\n', '') AS body,
    (
      SELECT coalesce(json_agg(json_build_object('signature', ${base64Of('signature')}, 'signedAt', signed_at) ORDER BY signed_at), '[]')
      FROM entries AS repeat WHERE kind = 1 AND repeat_of = entries.id
    ) AS repeats,
    (
      SELECT coalesce(json_agg(
        json_build_object('at', at, 'action', action, 'person', person, 'reason', reason, 'before', before) ORDER BY id
      ), '[]')
      FROM history WHERE entry_id = entries.id
    ) AS decisions
  FROM ${wholeEntries('entries.id = ANY ($1::bigint[])')} JOIN contents USING (id) ORDER BY id`

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
