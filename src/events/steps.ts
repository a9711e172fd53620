import type { HasAll } from '../base/has-all.js'
import type { MaybePending } from '../base/pending.js'
import type { VerifiedCallback } from '../callback/callback.js'
import type { Outcome, OutcomeCode } from '../callback/outcomes.js'
import type { ClaimedEvent } from './lifecycle-events.js'

/** A callback whose signature matched is stored, or handled before the answer. It may be suspect or a repeat. */
export interface AcceptStep {
  readonly callback: VerifiedCallback
  /** When the headers of its request had arrived, by `performance.now()`. */
  readonly arrivedAt: number
  /** The values of a header of its request, in the order in which they arrived. The service signs no header but its timestamp. */
  headerValues(name: string): readonly string[]
  /**
   * Set it before `next` is called to have it stored with the entry: `callback.traceContext` of the later attempts. A W3C
   * traceparent, and after a newline the tracestate, if there is one. No effect without an inbox.
   */
  traceContext?: string | undefined
}

/** The handlers of a claimed callback are called, and the end of the attempt is recorded. */
export type AttemptStep = ClaimedEvent

export interface AttemptResult {
  /** `HANDLED`, or why not. Undefined if no handler was called and the entry became due again. */
  readonly code: OutcomeCode | undefined
  /** What the handler threw. */
  readonly error?: unknown
}

/** The end of an attempt is recorded by the inbox or the idempotency store. */
export interface SettleStep extends ClaimedEvent {
  /** `release`: without an inbox, the claim is given back. `handBack`: no handler was called. */
  readonly move: 'complete' | 'release' | 'reschedule' | 'deadLetter' | 'handBack'
}

/** The steps of a callback that other code can run around, by name, with what each step results in. */
export interface Steps {
  readonly accept: { readonly step: AcceptStep; readonly result: Outcome }
  readonly attempt: { readonly step: AttemptStep; readonly result: AttemptResult }
  /** Results in `false` if the claim had been lost. */
  readonly settle: { readonly step: SettleStep; readonly result: unknown }
}

export type StepName = keyof Steps

/**
 * Runs around a step. It calls `next` once, before it returns; `next` takes the step and returns its result, or a promise of it.
 * What the hook returns has no effect.
 */
export type StepHook<Name extends StepName = StepName> = (
  step: Steps[Name]['step'],
  next: () => MaybePending<Steps[Name]['result']>,
) => unknown

export const STEP_NAMES = ['accept', 'attempt', 'settle'] as const satisfies readonly StepName[]

// Fails to compile when a name is missing from the list.
void (true satisfies HasAll<StepName, typeof STEP_NAMES>)
