import { backoff } from '../base/backoff.js'
import { withTimeout } from '../base/timeout.js'
import type { CallbackEvent, CallbackPayload, VerifiedCallback } from '../callback/callback.js'
import { parsePayload } from '../callback/payload.js'
import type { Failure } from '../handlers/dispatcher.js'
import { forbidsRetry } from '../handlers/do-not-retry.js'
import type { ClaimEnd } from '../inbox/engine.js'
import { errorText } from '../logging/logged-error.js'
import { pauseBeforeNextTry, type ClaimRecords } from './claim-records.js'
import { dispatchInTransaction, type TransactionalDispatch } from './dispatch-in-transaction.js'
import { abortRun, type Run } from './run.js'
import type { WorkerParts } from './worker-parts.js'

/** Why an attempt ended without success, when no handler was called: a row of the table of outcomes. */
type NotCalled = 'ERR_BODY_NOT_JSON' | 'ERR_CLAIM_LOST' | 'ERR_INBOX_UNAVAILABLE'

interface AttemptFailure extends Omit<Failure, 'code'> {
  readonly code: Failure['code'] | NotCalled
}

export interface AttemptEnd {
  readonly end: ClaimEnd
  readonly failure?: AttemptFailure | undefined
  /** Set if the end has been recorded, or the claim was found to be lost, in the handler's transaction. */
  readonly transaction?: 'committed' | 'lost'
}

export interface AttemptParts extends WorkerParts {
  readonly records: ClaimRecords
  /** Whether this worker has aborted its handlers because it stops. */
  readonly isAborted: () => boolean
}

/** How long a transaction may take to begin and to commit, in milliseconds, in addition to the handlers. */
const COMMIT_LIMIT_MS = 5_000
/** How much of an error is stored with its entry, in characters. */
const MAX_ERROR_LENGTH = 500

/** Runs the handlers of an entry. Resolves to the end to record, once the handlers have returned or their lease is over. */
export async function runAttempt(run: Run, parts: AttemptParts): Promise<AttemptEnd> {
  const { handlers, dispatcher, records } = parts
  const { entry } = run
  const { callback, replayed } = entry
  if (handlers.for(callback.type).length === 0) {
    // The inbox gave an entry of a type that was not requested. Without handlers it would count as handled.
    await pauseBeforeNextTry(parts)
    return { end: { move: 'handBack' } }
  }
  // The last attempt ended without a record, unless this worker has a smaller limit than the one that made it. An entry that kills
  // its process must not be tried for ever.
  if (entry.attempt > parts.maxAttempts) {
    const tried = `tried ${entry.attempt - 1} times, and maxAttempts is ${parts.maxAttempts}`
    return deadWithoutCall(
      'ERR_CLAIM_LOST',
      `${tried}: the process died during the last attempt, or maxAttempts was lowered since`,
    )
  }
  const payload = run.payload ?? parsePayload(callback.rawBody)
  if (!payload) return deadWithoutCall('ERR_BODY_NOT_JSON', 'the body is not a JSON object')
  const start = run.hasBegun ? startOfBegun(run, parts) : await records.begin(run)
  if (start === 'failed')
    return { end: { move: 'handBack' }, failure: { code: 'ERR_INBOX_UNAVAILABLE', error: undefined } }
  if (start === 'lost') return { end: { move: 'handBack' } }
  const event = eventOf(callback, payload, replayed)
  const { result, settled } = handlers.isTransactional(callback.type)
    ? dispatchWithTransaction(run, event, parts)
    : dispatcher.dispatch(event, entry.attempt, run.controller, {
        entryId: entry.id,
        hasLeaseEnded: leaseEnd(run, parts),
      })
  const failure = await result
  if (failure === undefined) return { end: { move: 'complete' } }
  if (failure === 'committed') {
    run.ended = entry
    return { end: { move: 'complete' }, transaction: failure }
  }
  // If this worker has claimed the entry again meanwhile, that claim has to end.
  if (failure === 'lost')
    return run.entry === entry
      ? { end: { move: 'complete' }, transaction: failure }
      : { end: { move: 'handBack' } }
  // A handler that ignores its signal keeps its entry and its slot until the lease that it began with is over: the entry
  // must not be handled twice at once, and other entries must not wait longer than that.
  const { environment } = parts
  const leftMs = run.begunAt + parts.leaseMs - environment.monotonic()
  if (leftMs > 0) {
    await withTimeout(settled(), leftMs, 'an aborted handler', { environment }).catch(() => {})
  }
  // The handlers were aborted, or the lease ended, before they began: while the payload was checked or the transaction began. That is
  // not an attempt.
  if (failure.code === 'ERR_CLAIM_LOST') return { end: { move: 'handBack' } }
  return failed(failure, entry.attempt, parts)
}

/**
 * The start of an entry whose begin was recorded as it arrived or was claimed. If the inbox was slow or the process paused, its lease
 * may end before it is renewed.
 */
function startOfBegun({ begunAt, isAborted }: Run, { leaseMs, environment }: AttemptParts): 'begun' | 'lost' {
  return isAborted || environment.monotonic() > begunAt + leaseMs / 2 ? 'lost' : 'begun'
}

/** On Node 20 a spread with further properties would take 1 percent of the time of an entry. */
function eventOf(callback: VerifiedCallback, payload: CallbackPayload, byOperator: boolean): CallbackEvent {
  const { type, idempotencyKey, signedAt, receivedAt, rawBody, subscription, secretFingerprint } = callback
  const event: { [Name in keyof Required<CallbackEvent>]: CallbackEvent[Name] } = {
    type,
    idempotencyKey,
    signedAt,
    receivedAt,
    rawBody,
    subscription,
    secretFingerprint,
    payload,
    byOperator,
  }
  return event
}

function deadWithoutCall(code: NotCalled, error: string): AttemptEnd {
  return { end: { move: 'deadLetter', error }, failure: { code, error: undefined } }
}

function failed(failure: AttemptFailure, attempts: number, parts: AttemptParts): AttemptEnd {
  const error = errorText(failure.error, parts.secrets, MAX_ERROR_LENGTH)
  const isFinal =
    attempts >= parts.maxAttempts || failure.code === 'ERR_PAYLOAD_INVALID' || forbidsRetry(failure.error)
  const { code } = failure
  if (isFinal) return { end: { move: 'deadLetter', error, code }, failure }
  // This process aborted the handlers because it stops. Another process may claim the entry immediately.
  const usualMs = parts.isAborted() ? 0 : backoff(attempts, parts, parts.environment.random)
  const delayMs = Math.max(usualMs, failure.retryAfterMs ?? 0)
  return { end: { move: 'reschedule', delayMs, error, code }, failure }
}

function dispatchWithTransaction(run: Run, event: CallbackEvent, parts: AttemptParts): TransactionalDispatch {
  const { inbox, dispatcher, records, environment } = parts
  const { entry } = run
  const hasLeaseEnded = leaseEnd(run, parts)
  return dispatchInTransaction({
    inbox,
    claim: entry,
    timeoutMs: dispatcher.limitMs(event.type) + COMMIT_LIMIT_MS,
    dispatch: (transaction) =>
      dispatcher.dispatch(event, entry.attempt, run.controller, {
        entryId: entry.id,
        hasLeaseEnded,
        transaction,
      }),
    abort: (why) => abortRun(run, why),
    mayCommit: () => !records.closed,
    environment,
  })
}

function leaseEnd(run: Run, { environment }: AttemptParts): () => boolean {
  return () => environment.monotonic() >= run.leaseEndsAt
}
