import type { EntryId, StoredCallback } from '../../callback/callback.js'
import { copyOfCallback } from '../../callback/copy-of-callback.js'
import type { Arrival } from '../engine.js'
import type { ArrivedHeaders } from '../operations.js'
import type { Attempt, EntrySummary, OperatorRecord } from '../operations.js'
import type { InboxState, StoredState } from '../states.js'
import type { EntryBefore } from '../undo.js'

/** An entry as MemoryInbox keeps it. Times are in milliseconds since 1970. */
export interface MemoryEntry {
  readonly id: EntryId
  /** Increases with each arrival. */
  readonly sequence: number
  state: StoredState
  callback: StoredCallback
  readonly key: string
  readonly bodyHash: string
  readonly signature: string
  readonly orderKey: string | undefined
  attempts: number
  token: number
  /** The token of the claim whose handlers began, until an end is recorded. */
  begunBy: number | undefined
  /** Set while it is stored, running or retrying. */
  dueAt: number | undefined
  /** When `dueAt` was set. */
  dueSetAt: number
  /** Whether no older unfinished entry has its order key. */
  isReady: boolean
  finishedAt: number | undefined
  reason: string | undefined
  /** Whether an operator retried or released it. */
  replayed: boolean
  copies: number
  readonly bodyId: string | undefined
  readonly headers: ArrivedHeaders | undefined
  readonly attemptHistory: Attempt[]
  readonly history: { readonly record: OperatorRecord; readonly before?: EntryBefore }[]
  readonly moreSignatures: string[]
  /** The latest time of all its signatures. */
  latestSignedAt: number
}

export function createEntry(
  { callback, key, bodyHash, signature, orderKey, bodyId, headers, traceContext }: Arrival,
  sequence: number,
  state: StoredState,
): MemoryEntry {
  return {
    id: String(sequence),
    sequence,
    state,
    callback: copyOfCallback(callback, traceContext),
    key,
    bodyHash,
    signature,
    orderKey,
    attempts: 0,
    token: 0,
    begunBy: undefined,
    dueAt: undefined,
    dueSetAt: 0,
    isReady: false,
    finishedAt: undefined,
    reason: undefined,
    replayed: false,
    copies: 0,
    bodyId,
    headers,
    attemptHistory: [],
    history: [],
    moreSignatures: [],
    latestSignedAt: Number(callback.signedAt),
  }
}

export function signaturesOf({ signature, moreSignatures }: MemoryEntry): readonly string[] {
  return [signature, ...moreSignatures]
}

export function summaryOf(entry: MemoryEntry, state: InboxState): EntrySummary {
  const { id, callback, bodyId, attempts, dueAt, isReady, finishedAt, reason, copies } = entry
  const { type: eventType, idempotencyKey, subscription } = callback
  return {
    id,
    state,
    eventType,
    idempotencyKey,
    bodyId,
    subscription,
    signedAt: new Date(callback.signedAt),
    receivedAt: new Date(callback.receivedAt),
    attempts,
    dueAt: isReady && state !== 'unhandled' ? new Date(dueAt!) : undefined,
    finishedAt: finishedAt === undefined ? undefined : new Date(finishedAt),
    reason,
    copies,
  }
}
