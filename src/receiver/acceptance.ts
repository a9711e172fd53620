import type { MaybePending } from '../base/pending.js'
import type { Authentication } from '../callback/authenticate.js'
import type { CallbackRequest } from '../callback/callback.js'
import type { Outcome } from '../callback/outcomes.js'

/** A callback whose signature matched. It may still be suspect. */
export type Authenticated = Exclude<Authentication, { verdict: 'refused' }>

/** What is done with verified callbacks: they are handled before the answer, or stored and handled after it. */
export interface Acceptance {
  /** Whether callbacks can be accepted, as far as it is known. */
  readonly ready: boolean
  start(): Promise<void>
  /**
   * Never rejects, unless there is a mistake in Countersign. `traceContext` is stored with the callback.
   */
  accept(callback: Authenticated, request: CallbackRequest, traceContext?: string): MaybePending<Outcome>
  /**
   * Records that a probe of `countersign doctor` is answered. False if a process that shares the inbox or the store has answered
   * it before.
   */
  rememberProbe(nonce: string, sentAtMs: number): MaybePending<boolean>
  /** Only for an inbox. Resolves once nothing runs, and nothing that this process handles is due. */
  idle?(): Promise<void>
  /** Resolves once running handlers have ended. After `limitMs` they are aborted. */
  stop(limitMs: number): Promise<void>
}
