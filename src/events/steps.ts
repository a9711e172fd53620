import type { HasAll } from '../base/has-all.js'
import type { MaybePending } from '../base/pending.js'
import type { VerifiedCallback } from '../callback/callback.js'
import type { Outcome, OutcomeCode } from '../callback/outcomes.js'
import type { ClaimedEvent } from './lifecycle-events.js'

/** The step that stores a callback, or handles it before the answer. Its signature matched. It may be suspect or a repeat. */
export interface AcceptStep {
  readonly callback: VerifiedCallback
  /** When the headers of the request had arrived, in milliseconds by `performance.now()`. */
  readonly arrivedAt: number
  /** The values of a header of the request, in the order of arrival. Only the header of the timestamp is signed. */
  headerValues(name: string): readonly string[]
  /**
   * A trace context to store with the entry. Later attempts have it in `callback.traceContext`. Set it before you call `next`. It is
   * a W3C traceparent, followed by a line feed and the tracestate if there is one. Without an inbox it has no effect.
   */
  traceContext?: string | undefined
}

/** The step that calls the handlers of a claimed callback, and records the end of the attempt. */
export type AttemptStep = ClaimedEvent

/** How an attempt ended, for what is around the handlers. */
export interface AttemptResult {
  /** `HANDLED`, or the code of the failure. Undefined if no handler was called and the entry became due again. */
  readonly code: OutcomeCode | undefined
  /** As in `FailedEvent`: most often the value that the handler threw. */
  readonly error?: unknown
}

/** The step in which the inbox or the idempotency store records the end of an attempt. */
export interface SettleStep extends ClaimedEvent {
  /** How the attempt ended. `release`: without an inbox, the claim is given back. `handBack`: no handler was called. */
  readonly move: 'complete' | 'release' | 'reschedule' | 'deadLetter' | 'handBack'
}

/** The steps of a callback that hooks can surround, by name, with the result of each step. */
export interface Steps {
  readonly accept: { readonly step: AcceptStep; readonly result: Outcome }
  readonly attempt: { readonly step: AttemptStep; readonly result: AttemptResult }
  /** The result is `false` if the claim was lost before. */
  readonly settle: { readonly step: SettleStep; readonly result: unknown }
}

export type StepName = keyof Steps

/**
 * Where `receiver.events` takes hooks around every step, for our own telemetry: the other steps are not public, so that they can
 * change. Telemetry may be that of another loaded version of the package, so it is a registered symbol.
 */
export const AROUND: unique symbol = Symbol.for('countersign.around')

/**
 * A function that runs around a step. It must call `next` once, before it returns. `next` runs the step and returns its result, or a
 * promise of the result. The value that the hook returns has no effect.
 */
export type StepHook<Name extends StepName = StepName> = (
  step: Steps[Name]['step'],
  next: () => MaybePending<Steps[Name]['result']>,
) => unknown

export const STEP_NAMES = ['accept', 'attempt', 'settle'] as const satisfies readonly StepName[]
void (true satisfies HasAll<StepName, typeof STEP_NAMES>)
