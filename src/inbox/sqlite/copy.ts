import { defaultSubscriptionId } from '../../callback/callback.js'
import { VERSIONS_PAGE, type CopiedEntry, type CopyMarks, type EntryVersion } from '../copy.js'
import type { StoredState } from '../states.js'
import type { Connection } from './connection.js'
import type { SqliteValue } from './driver.js'
import { unpackHeaders } from './header-sets.js'
import { promoteNext } from './order.js'
import { packUuid, unpackUuid, type PackedUuid } from './packed-uuid.js'
import type { Reader } from './read-inbox-file.js'
import type { SourceRow } from './sources.js'

// The steps of a copy: see ../copy.ts, Copying.

export function marks(db: Reader): CopyMarks {
  return db.get<CopyMarks>(MARKS)!
}

export function versions(db: Reader, afterId: number): EntryVersion[] {
  return db.all<VersionRow>(VERSIONS, afterId, VERSIONS_PAGE).map((row) => ({
    ...versionOf(row),
    repeats: row.repeats,
    decisions: row.decisions,
    bodyBytes: row.body_bytes,
  }))
}

export function readEntries(db: Reader, ids: readonly number[]): CopiedEntry[] {
  const rows = ids.map((id) => db.get<EntryRow>(ENTRY, id)).filter((row) => row !== undefined)
  return rows.map((row) => copiedEntry(db, row))
}

export function mark(db: Connection, { lastId, deletedUntil }: CopyMarks): void {
  if (db.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'entries'", lastId).changes === 0)
    db.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('entries', ?)", lastId)
  if (deletedUntil !== null) db.run(REMEMBER_DELETED, deletedUntil)
}

export function removeEntries(db: Connection, ids: readonly number[]): void {
  for (const id of ids) {
    db.run('DELETE FROM more_signatures WHERE entry_id = ?', id)
    db.run('DELETE FROM history WHERE entry_id = ?', id)
    db.run('DELETE FROM entries WHERE id = ?', id)
  }
}

export function writeEntries(db: Connection, entries: readonly CopiedEntry[]): void {
  for (const entry of entries) writeEntry(db, entry)
  const orderKeys = new Set(entries.flatMap(({ order }) => (order ? orderText(order) : [])))
  for (const orderKey of orderKeys) promoteNext(db, orderKey)
}

function writeEntry(db: Connection, entry: CopiedEntry): void {
  const { id, idempotencyKey, signedAt, subscribedType, callbackUrl, description, dueAt, order } = entry
  const subscribed = { eventTypeName: subscribedType, callbackUrl }
  const subscription = {
    id: entry.subscriptionId ?? defaultSubscriptionId(subscribed),
    ...subscribed,
    ...(description !== null && { description }),
  }
  const source = db.sources.numberOf(db, { subscription, secretFingerprint: entry.secretFingerprint })
  const headers = db.headerSets.pack(db, entry.headers, { idempotencyKey, type: subscribedType, signedAt })
  const row: Readonly<Record<string, SqliteValue>> = {
    id,
    state: entry.state,
    known: Number(entry.known),
    event_type: entry.eventType,
    idempotency_key: packUuid(idempotencyKey),
    key_hash: bytesOf(entry.keyHash),
    body_hash: bytesOf(entry.bodyHash),
    signature: bytesOf(entry.signature),
    due_at: dueAt,
    due_set_at: entry.dueSetAt,
    order_key: order && orderText(order),
    ready: dueAt !== null && order === null ? 1 : 0,
    token: entry.token,
    begun_by: entry.begunBy,
    attempts: entry.attempts,
    begun_at: entry.begunAt,
    handled_at: entry.handledAt,
    past_attempts: entry.pastAttempts,
    replayed: Number(entry.replayed),
    copies: entry.copies,
    signed_at: signedAt,
    received_at: entry.receivedAt,
    finished_at: entry.finishedAt,
    reason: entry.reason,
    source,
    trace_context: entry.traceContext,
    header_set: headers.set,
    headers: headers.headers,
    body_id: entry.bodyId === null ? null : packUuid(entry.bodyId),
    body: bytesOf(entry.body),
  }
  const names = Object.keys(row)
  db.run(
    `INSERT INTO entries (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    ...Object.values(row),
  )
  db.sources.signed(db, source, signedAt)
  for (const repeat of entry.repeats)
    db.run(
      'INSERT INTO more_signatures (signature, entry_id, signed_at) VALUES (?, ?, ?)',
      bytesOf(repeat.signature),
      id,
      repeat.signedAt,
    )
  for (const { at, action, person, reason, before } of entry.decisions)
    db.run(
      'INSERT INTO history (entry_id, at, action, person, reason, before) VALUES (?, ?, ?, ?, ?, ?)',
      id,
      at,
      action,
      person,
      reason,
      before,
    )
}

interface CommonRow {
  readonly id: number
  readonly signature: Uint8Array
  readonly signed_at: number
  readonly state: StoredState
  readonly known: 0 | 1
  readonly event_type: string
  readonly token: number
  readonly attempts: number
  readonly copies: number
  readonly replayed: 0 | 1
  readonly finished_at: number | null
  readonly due_at: number | null
}

interface VersionRow extends CommonRow {
  readonly repeats: number
  readonly decisions: number
  readonly body_bytes: number
}

interface EntryRow extends CommonRow, SourceRow {
  readonly idempotency_key: PackedUuid
  readonly key_hash: Uint8Array
  readonly body_hash: Uint8Array
  readonly due_set_at: number | null
  readonly order_key: string | null
  readonly begun_by: number
  readonly begun_at: number | null
  readonly handled_at: number | null
  readonly past_attempts: string | null
  readonly received_at: number
  readonly reason: string | null
  readonly body_id: PackedUuid | null
  readonly trace_context: string | null
  readonly pairs: string | null
  readonly headers: string | null
  readonly body: Uint8Array
}

function versionOf(row: CommonRow) {
  const { state } = row
  return {
    id: row.id,
    signature: base64(row.signature),
    signedAt: row.signed_at,
    state: state === 'running' ? ('stored' as const) : state,
    known: row.known === 1,
    eventType: row.event_type,
    token: row.token,
    attempts: row.attempts,
    copies: row.copies,
    replayed: row.replayed === 1,
    finishedAt: row.finished_at,
    dueAt: row.due_at,
  }
}

function copiedEntry(db: Reader, row: EntryRow): CopiedEntry {
  const idempotencyKey = unpackUuid(row.idempotency_key)
  const repeats = db.all<{ signature: Uint8Array; signedAt: number }>(REPEATS, row.id)
  return {
    ...versionOf(row),
    idempotencyKey,
    keyHash: base64(row.key_hash),
    bodyHash: base64(row.body_hash),
    dueSetAt: row.due_set_at,
    order: row.order_key === null ? null : { text: row.order_key },
    begunBy: row.begun_by,
    begunAt: row.begun_at,
    handledAt: row.handled_at,
    pastAttempts: row.past_attempts,
    receivedAt: row.received_at,
    reason: row.reason,
    subscribedType: row.subscribed_type,
    callbackUrl: row.callback_url,
    description: row.description,
    subscriptionId: row.subscription_id,
    secretFingerprint: row.secret_fingerprint,
    bodyId: row.body_id === null ? null : unpackUuid(row.body_id),
    traceContext: row.trace_context,
    headers: unpackHeaders(row, { idempotencyKey, type: row.subscribed_type, signedAt: row.signed_at }),
    body: base64(row.body),
    repeats: repeats.map(({ signature, signedAt }) => ({ signature: base64(signature), signedAt })),
    decisions: db.all<CopiedEntry['decisions'][number]>(DECISIONS, row.id),
  }
}

function orderText(order: NonNullable<CopiedEntry['order']>): string {
  return 'text' in order ? order.text : order.hash
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'base64')
}

const MARKS = `
  SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'entries'), 0) AS lastId,
    (SELECT signed_at FROM deleted) AS deletedUntil`
const COMMON =
  'entries.id, signature, signed_at, state, known, event_type, token, attempts, copies, replayed, finished_at, due_at'
const VERSIONS = `
  SELECT ${COMMON}, length(body) AS body_bytes,
    (SELECT count(*) FROM more_signatures WHERE entry_id = entries.id) AS repeats,
    (SELECT count(*) FROM history WHERE entry_id = entries.id) AS decisions
  FROM entries WHERE id > ? ORDER BY id LIMIT ?`
const ENTRY = `
  SELECT ${COMMON}, idempotency_key, key_hash, body_hash, due_set_at, order_key, begun_by, begun_at, handled_at, past_attempts,
    received_at, reason, body_id, trace_context, pairs, headers, body,
    subscribed_type, callback_url, description, subscription_id, secret_fingerprint
  FROM entries JOIN sources ON sources.number = source LEFT JOIN header_sets ON header_sets.number = header_set
  WHERE entries.id = ?`
const REPEATS =
  'SELECT signature, signed_at AS signedAt FROM more_signatures WHERE entry_id = ? ORDER BY signed_at'
const DECISIONS = 'SELECT at, action, person, reason, before FROM history WHERE entry_id = ? ORDER BY id'
const REMEMBER_DELETED = `
  INSERT INTO deleted (only_row, signed_at) VALUES (1, ?)
  ON CONFLICT (only_row) DO UPDATE SET signed_at = max(signed_at, excluded.signed_at)`
