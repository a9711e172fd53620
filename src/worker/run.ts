import type { CallbackPayload } from '../callback/callback.js'
import type { ClaimedEntry } from '../inbox/engine.js'

/** An entry that the worker handles. */
export interface Run {
  /** The current claim. It is not the first one if that was lost and the entry was claimed again. */
  entry: ClaimedEntry
  /** By the monotonic clock of this process; not later than by the clock of the inbox. */
  leaseEndsAt: number
  lost: boolean
  /** Whether the begin of its handlers was recorded when it was stored or claimed. */
  readonly hasBegun: boolean
  /** When the begin of its handlers was given to the inbox, by the same clock. */
  begunAt: number
  /** The body, if this process has parsed it. */
  readonly payload: CallbackPayload | undefined
  /** Its signal is for handlers only: making it takes long, and few handlers need it. */
  readonly controller: AbortController
  isAborted: boolean
  /** The claim whose end was recorded. */
  ended: ClaimedEntry | undefined
  /** Resolves once the end of the handlers has been recorded. */
  done: Promise<void>
}

/** Aborts the handlers of a run, or keeps them from beginning. */
export function abortRun(run: Run, reason: Error): void {
  run.isAborted = true
  run.controller.abort(reason)
}
