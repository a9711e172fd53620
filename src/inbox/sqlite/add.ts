import { recognise } from '../../callback/recognition.js'
import type { AddResult, QuarantineCause } from '../engine.js'
import { quarantineReason } from '../quarantine-reason.js'
import type { StoredState } from '../states.js'
import type { Connection } from './connection.js'
import type { SqliteValue } from './driver.js'
import { identityOf, type Identity } from '../identity.js'
import type { ArrivalToStore } from './operations.js'
import { packUuid } from './packed-uuid.js'
import { promoteNext } from './order.js'
import { isForgotten } from './prune.js'
import { entryIdOf } from './row-id.js'

/** Stores an arrival unless it is known. */
export function add(db: Connection, arrival: ArrivalToStore, now: number): AddResult {
  const identity = identityOf(arrival)
  // Nearly all arrivals are new: one statement finds that out and stores them.
  const stored = arrival.suspicion === undefined ? addNew(db, arrival, identity, now) : undefined
  return stored ?? addKnownOrSuspect(db, arrival, identity, now)
}

/** Undefined if nothing was stored. */
function addNew(
  db: Connection,
  arrival: ArrivalToStore,
  identity: Identity,
  now: number,
): AddResult | undefined {
  const claimedForMs = arrival.orderKey === undefined ? arrival.begin?.leaseMs : undefined
  const { changes, lastId, token } = insert(db, arrival, identity, {
    state: claimedForMs === undefined ? 'stored' : 'running',
    known: 1,
    claimedForMs,
    now,
    reason: null,
  })
  if (changes === 0) return undefined
  if (arrival.orderKey !== undefined) promoteNext(db, arrival.orderKey)
  const id = entryIdOf(lastId)
  return claimedForMs === undefined
    ? { result: 'stored', id }
    : { result: 'stored', id, claim: { id, token } }
}

function addKnownOrSuspect(
  db: Connection,
  arrival: ArrivalToStore,
  identity: Identity,
  now: number,
): AddResult {
  const { callback, suspicion } = arrival
  const { keyHash, bodyHash, signature } = identity
  const signedAt = Number(callback.signedAt)
  const known = db.get<{ id: number; same_body: number }>(
    'SELECT id, body_hash = ? AS same_body FROM entries WHERE key_hash = ? AND known = 1',
    bodyHash,
    keyHash,
  )
  const signed = db.get<{ id: number }>(
    'SELECT id FROM entries WHERE signed_at = ?1 AND signature = ?2 AND known = 1 ' +
      'UNION ALL SELECT entry_id AS id FROM more_signatures WHERE signature = ?2',
    signedAt,
    signature,
  )
  const recognition = recognise({
    key: !known ? 'unknown' : known.same_body === 1 ? 'same-body' : 'other-body',
    signature: !signed ? 'unknown' : signed.id === known?.id ? 'same-key' : 'other-key',
    isSuspect: suspicion !== undefined,
    isForgotten: isForgotten(db, signedAt),
  })
  if (recognition === 'duplicate')
    return countDuplicate(db, known!.id, signed ? undefined : { signature, signedAt }, now)
  if (recognition === 'new') throw new Error('a new callback was not stored')
  const reason = quarantineReason(recognition, arrival, { keyOf: known?.id, signatureOf: signed?.id })
  return addToQuarantine(db, arrival, identity, { now, why: recognition, reason })
}

/** `newSignature`: of a repeat that was signed anew. */
function countDuplicate(
  db: Connection,
  knownId: number,
  newSignature: { readonly signature: Uint8Array; readonly signedAt: number } | undefined,
  now: number,
): AddResult {
  if (newSignature) {
    // So that the new signature cannot be replayed: neither under another key nor once the entry is old.
    db.run(
      'INSERT INTO more_signatures (signature, entry_id, signed_at) VALUES (?, ?, ?)',
      newSignature.signature,
      knownId,
      newSignature.signedAt,
    )
    db.run('UPDATE entries SET finished_at = max(finished_at, ?) WHERE id = ?', now, knownId)
  }
  db.run('UPDATE entries SET copies = copies + 1 WHERE id = ?', knownId)
  return { result: 'duplicate', id: entryIdOf(knownId) }
}

/** Stores one entry for a signature, whatever else was rewritten: an attacker with one captured delivery cannot fill the disk. */
function addToQuarantine(
  db: Connection,
  arrival: ArrivalToStore,
  identity: Identity,
  { now, why, reason }: { readonly now: number; readonly why: QuarantineCause; readonly reason: string },
): AddResult {
  const suspect = insert(db, arrival, identity, { state: 'quarantined', known: 0, now, reason })
  if (suspect.changes === 1) return { result: 'quarantined', id: entryIdOf(suspect.lastId), why }
  const copy = db.get<{ id: number }>(
    'UPDATE entries SET copies = copies + 1 WHERE signed_at = ? AND signature = ? AND known = 0 RETURNING id',
    Number(arrival.callback.signedAt),
    identity.signature,
  )
  return { result: 'duplicate', id: entryIdOf(copy!.id) }
}

/** How a new entry begins. */
interface InitialState {
  readonly state: StoredState
  readonly known: 0 | 1
  /** Set if it is claimed, and its handlers begin. */
  readonly claimedForMs?: number | undefined
  readonly now: number
  readonly reason: string | null
}

/** Changes nothing if the key or the signature is known, or if a callback was deleted that was signed as late. */
function insert(
  db: Connection,
  { callback, orderKey, bodyId, traceContext, headers }: ArrivalToStore,
  { keyHash, bodyHash, signature }: Identity,
  { state, known, claimedForMs, now, reason }: InitialState,
): { changes: number; lastId: number; token: number } {
  const { type, idempotencyKey, receivedAt, rawBody, subscription } = callback
  const signedAt = Number(callback.signedAt)
  const source = db.sources.numberOf(db, callback)
  const referred = { idempotencyKey, type: subscription.eventTypeName, signedAt }
  const packed = db.headerSets.pack(db, headers, referred)
  const isBegun = claimedForMs !== undefined
  // The file may be replaced while several processes have it open. A claim of an entry of the old file must not be valid for the
  // entry that has its id in the new one. Claims count from here.
  const token = 1 + Math.floor(Math.random() * 1_000_000_000)
  const row: Record<(typeof COLUMNS)[number], SqliteValue> = {
    state,
    known,
    event_type: type,
    idempotency_key: packUuid(idempotencyKey),
    key_hash: keyHash,
    body_hash: bodyHash,
    signature,
    due_at: state === 'quarantined' ? null : now + (claimedForMs ?? 0),
    due_set_at: now,
    order_key: orderKey ?? null,
    ready: state !== 'quarantined' && orderKey === undefined ? 1 : 0,
    token,
    begun_by: isBegun ? token : 0,
    begun_at: isBegun ? now : null,
    attempts: isBegun ? 1 : 0,
    signed_at: signedAt,
    received_at: Number(receivedAt),
    reason,
    source,
    body: rawBody,
    body_id: bodyId === undefined ? null : packUuid(bodyId),
    trace_context: traceContext ?? null,
    header_set: packed.set,
    headers: packed.headers,
  }
  const { changes, lastId } = db.run(
    known === 1 ? INSERT_KNOWN : INSERT_SUSPECT,
    ...COLUMNS.map((column) => row[column]),
  )
  if (changes === 1) db.sources.signed(db, source, signedAt)
  return { changes, lastId, token }
}

const COLUMNS = [
  'state',
  'known',
  'event_type',
  'idempotency_key',
  'key_hash',
  'body_hash',
  'signature',
  'due_at',
  'due_set_at',
  'order_key',
  'ready',
  'token',
  'begun_by',
  'begun_at',
  'attempts',
  'signed_at',
  'received_at',
  'reason',
  'source',
  'body',
  'body_id',
  'trace_context',
  'header_set',
  'headers',
] as const

const PARAMETERS = COLUMNS.map((_, index) => `?${index + 1}`)
const INSERT = `INSERT INTO entries (${COLUMNS.join(', ')}) SELECT ${PARAMETERS.join(', ')}`
const INSERT_SUSPECT = `${INSERT} WHERE true ON CONFLICT DO NOTHING`
const SIGNATURE = PARAMETERS[COLUMNS.indexOf('signature')]
const SIGNED_AT = PARAMETERS[COLUMNS.indexOf('signed_at')]
const INSERT_KNOWN =
  `${INSERT} WHERE NOT EXISTS (SELECT 1 FROM more_signatures WHERE signature = ${SIGNATURE}) ` +
  `AND NOT EXISTS (SELECT 1 FROM deleted WHERE signed_at >= ${SIGNED_AT}) ON CONFLICT DO NOTHING`
