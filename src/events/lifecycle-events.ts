import type { HasAll } from '../base/has-all.js'
import type { EntryId, VerifiedCallback } from '../callback/callback.js'
import type { Outcome, OutcomeCode } from '../callback/outcomes.js'

/** A callback whose signature matched and that is not suspect, before it is stored or handled. */
export interface AcceptedEvent {
  readonly callback: VerifiedCallback
}

/** The answer to one request. */
export interface AnsweredEvent {
  readonly outcome: Outcome
  /**
   * X-Idempotency-Key and X-Event-Type as the sender wrote them: printable ASCII, at most 100 characters. Those of a verified
   * callback are in `outcome.callback`.
   */
  readonly unverified: {
    readonly idempotencyKey: string | undefined
    readonly eventType: string | undefined
  }
  /** From the headers of the request to the answer, in milliseconds. */
  readonly durationMs: number
}

/** The answer to a callback that is now in the inbox, or in its quarantine. */
export interface StoredEvent extends AnsweredEvent {
  readonly callback: VerifiedCallback
  readonly entryId: EntryId
}

/** The answer to a callback that was handled or stored before. */
export interface DuplicateEvent extends AnsweredEvent {
  readonly callback: VerifiedCallback
  /** The entry that it repeats. Undefined without an inbox. */
  readonly entryId: EntryId | undefined
}

/** A callback whose handlers are about to be called. */
export interface ClaimedEvent {
  /** Undefined without an inbox, where handlers run before the answer. */
  readonly entryId: EntryId | undefined
  readonly callback: VerifiedCallback
  /** The number of this attempt, from 1. */
  readonly attempt: number
}

/** The end of an attempt. */
export interface AttemptEvent extends ClaimedEvent {
  /** From the claim to the recorded end, in milliseconds. */
  readonly durationMs: number
}

/** An attempt failed. */
export interface FailedEvent extends AttemptEvent {
  readonly code: OutcomeCode
  /** What the handler threw. If its timeout was exceeded, or the store or the inbox failed, the error that says so. */
  readonly error: unknown
  /** When the next attempt is due, in milliseconds from now. Undefined without an inbox, where only the sender retries. */
  readonly retryInMs: number | undefined
}

/** An entry became a dead letter: it is not tried again unless an operator decides so. */
export interface DeadEvent extends AttemptEvent {
  readonly entryId: EntryId
  readonly code: OutcomeCode
  /** What the handler threw. Undefined when no handler was called. */
  readonly error: unknown
  /** What is stored with the entry, without known secrets. */
  readonly reason: string
}

/** The lease of an entry ended while its handler was running, so another worker may handle it. */
export interface LeaseLostEvent extends AttemptEvent {
  /** What the handler threw, or the error of its timeout; undefined if it succeeded. */
  readonly error?: unknown
}

/** Why the signature of a refused callback did not match. The receiver explains few of them: see its option `diagnosis`. */
export interface ExplainedEvent {
  /** What was wrong, by a stable name such as `secret-is-base64`. docs/diagnosis.md lists the names. */
  readonly cause: string
  /** A second mistake that was found together with it. */
  readonly togetherWith?: string | undefined
  readonly certainty: 'proven' | 'likely'
  /** What to do. It contains no secret and no signature. */
  readonly cure: string
}

/** What an operator did to an entry, by `act` of the inbox object that this receiver or worker has opened. */
export interface DecidedEvent {
  readonly entryId: EntryId
  readonly action: 'retry' | 'release' | 'discard' | 'undo'
  /** Who did it, as the history of the entry has it. */
  readonly by: string
  /** Why, if the operator gave a reason. */
  readonly reason?: string
}

/**
 * Everything that happens to a callback, by name. Every request causes exactly one `answered`, unless it is a probe of
 * `countersign doctor`; then `refused`, `stored`, `duplicate` or `quarantined` if one of them applies. Every `claimed` is followed by
 * `handled`, `failed`, `dead` or `leaseLost`, unless the handlers were not called and the entry became due again,
 * or the process ended.
 */
export interface LifecycleEvents {
  readonly accepted: AcceptedEvent
  readonly answered: AnsweredEvent
  readonly refused: AnsweredEvent
  readonly explained: ExplainedEvent
  readonly stored: StoredEvent
  readonly duplicate: DuplicateEvent
  readonly quarantined: StoredEvent
  readonly claimed: ClaimedEvent
  readonly handled: AttemptEvent
  readonly failed: FailedEvent
  readonly dead: DeadEvent
  readonly leaseLost: LeaseLostEvent
  readonly decided: DecidedEvent
}

/** The name of an event of `receiver.events` and `worker.events`. */
export type LifecycleEventName = keyof LifecycleEvents

export const LIFECYCLE_EVENT_NAMES = [
  'accepted',
  'answered',
  'refused',
  'explained',
  'stored',
  'duplicate',
  'quarantined',
  'claimed',
  'handled',
  'failed',
  'dead',
  'leaseLost',
  'decided',
] as const satisfies readonly LifecycleEventName[]
void (true satisfies HasAll<LifecycleEventName, typeof LIFECYCLE_EVENT_NAMES>)
