import { defaultSubscriptionId } from '../../callback/callback.js'
import { VERSIONS_PAGE, type CopiedEntry, type CopyMarks, type EntryVersion } from '../copy.js'
import type { Connection } from './connection.js'
import type { SqliteValue } from './driver.js'
import { unpackHeaders } from './header-sets.js'
import { promoteNext } from './order.js'
import { packUuid, unpackUuid, type PackedUuid } from './packed-uuid.js'
import type { Reader } from './read-inbox-file.js'

// The steps of a copy: see ../copy.ts, Copying.

export function marks(db: Reader): CopyMarks {
  return db.get<CopyMarks>(MARKS)!
}

export function versions(db: Reader, afterId: number): EntryVersion[] {
  return db.all<VersionRow>(VERSIONS, afterId, VERSIONS_PAGE).map((row) => ({ ...row, ...inCopy(row) }))
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

/** What a row has in another form than a copy. */
interface VersionForms {
  readonly signature: Uint8Array
  readonly known: 0 | 1
  readonly replayed: 0 | 1
}

interface EntryForms extends VersionForms {
  readonly keyHash: Uint8Array
  readonly bodyHash: Uint8Array
  readonly idempotencyKey: PackedUuid
  readonly bodyId: PackedUuid | null
  readonly body: Uint8Array
}

type VersionRow = Omit<EntryVersion, keyof VersionForms> & VersionForms
type EntryRow = Omit<CopiedEntry, keyof EntryForms | 'order' | 'repeats' | 'decisions'> &
  EntryForms & { readonly orderKey: string | null; readonly pairs: string | null }

function inCopy({ signature, known, replayed }: VersionForms) {
  return { signature: base64(signature), known: known === 1, replayed: replayed === 1 }
}

function copiedEntry(db: Reader, { pairs, orderKey, ...row }: EntryRow): CopiedEntry {
  const idempotencyKey = unpackUuid(row.idempotencyKey)
  const repeats = db.all<{ signature: Uint8Array; signedAt: number }>(REPEATS, row.id)
  return {
    ...row,
    ...inCopy(row),
    idempotencyKey,
    keyHash: base64(row.keyHash),
    bodyHash: base64(row.bodyHash),
    order: orderKey === null ? null : { text: orderKey },
    bodyId: row.bodyId === null ? null : unpackUuid(row.bodyId),
    headers: unpackHeaders(
      { pairs, headers: row.headers },
      { idempotencyKey, type: row.subscribedType, signedAt: row.signedAt },
    ),
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
const COMMON = `
    entries.id, signature, signed_at AS signedAt, iif(state = 'running', 'stored', state) AS state, known, event_type AS eventType,
    token, attempts, copies, replayed, finished_at AS finishedAt, due_at AS dueAt`
const VERSIONS = `
  SELECT ${COMMON}, length(body) AS bodyBytes,
    (SELECT count(*) FROM more_signatures WHERE entry_id = entries.id) AS repeats,
    (SELECT count(*) FROM history WHERE entry_id = entries.id) AS decisions
  FROM entries WHERE id > ? ORDER BY id LIMIT ?`
const ENTRY = `
  SELECT ${COMMON}, idempotency_key AS idempotencyKey, key_hash AS keyHash, body_hash AS bodyHash, due_set_at AS dueSetAt,
    order_key AS orderKey, begun_by AS begunBy, begun_at AS begunAt, handled_at AS handledAt, past_attempts AS pastAttempts,
    received_at AS receivedAt, reason, body_id AS bodyId, trace_context AS traceContext, pairs, headers, body,
    subscribed_type AS subscribedType, callback_url AS callbackUrl, description, subscription_id AS subscriptionId,
    secret_fingerprint AS secretFingerprint
  FROM entries JOIN sources ON sources.number = source LEFT JOIN header_sets ON header_sets.number = header_set
  WHERE entries.id = ?`
const REPEATS =
  'SELECT signature, signed_at AS signedAt FROM more_signatures WHERE entry_id = ? ORDER BY signed_at'
const DECISIONS = 'SELECT at, action, person, reason, before FROM history WHERE entry_id = ? ORDER BY id'
const REMEMBER_DELETED = `
  INSERT INTO deleted (only_row, signed_at) VALUES (1, ?)
  ON CONFLICT (only_row) DO UPDATE SET signed_at = max(signed_at, excluded.signed_at)`
