import type { Environment } from '../base/environment.js'
import { headerValues } from '../http/callback-headers.js'
import type { Authentication } from '../callback/authenticate.js'
import type { Authenticator } from '../callback/authenticator.js'
import type { ReadRequest } from '../callback/callback.js'
import type { Acceptance, Authenticated } from './acceptance.js'
import type { InFlight } from './in-flight.js'
import { whenDone, type MaybePending } from '../base/pending.js'
import { settledWithin } from '../base/timeout.js'
import { outcome, type Outcome } from '../callback/outcomes.js'
import type { EventChannel } from '../events/event-channel.js'
import type { AcceptStep } from '../events/steps.js'

interface PipelineParts {
  readonly authenticate: Authenticator
  readonly acceptance: Acceptance
  readonly stopping: AbortSignal
  readonly events: EventChannel
  readonly inFlight: InFlight
  readonly environment: Environment
}

/** Processes one callback from bytes and headers to its outcome. */
export class Pipeline {
  readonly #parts: PipelineParts

  constructor(parts: PipelineParts) {
    this.#parts = parts
  }

  outcomeOf(request: ReadRequest): MaybePending<Outcome> {
    const { inFlight, authenticate } = this.#parts
    return inFlight.during(() => whenDone(authenticate(request), (result) => this.#accept(result, request)))
  }

  #accept(result: Authentication, request: ReadRequest): MaybePending<Outcome> {
    if (result.verdict === 'refused') return outcome(result.code, undefined, result.error)
    // The subscription may have been found only after stop(), and the caller of stop() has closed what the
    // handlers need.
    const { stopping, events, acceptance } = this.#parts
    if (stopping.aborted) return outcome('ERR_SHUTTING_DOWN', result.callback)
    if (result.verdict === 'genuine' && events.has('accepted'))
      events.publish('accepted', { callback: result.callback })
    return events.isSurrounded('accept')
      ? this.#acceptWithin(result, request)
      : acceptance.accept(result, request)
  }

  #acceptWithin(result: Authenticated, request: ReadRequest): MaybePending<Outcome> {
    const { events, acceptance } = this.#parts
    const step: AcceptStep = {
      callback: result.callback,
      arrivedAt: request.arrivedAt,
      headerValues: (name) => headerValues(request.rawHeaders, name),
    }
    return events.within('accept', step, () => acceptance.accept(result, request, step.traceContext))
  }

  /** Resolves once every callback whose body has arrived has its outcome, and the acceptance is idle. */
  async idle(): Promise<void> {
    const { inFlight, acceptance } = this.#parts
    await inFlight.ended()
    await acceptance.idle?.()
  }

  /** Resolves once every accepted callback has its outcome, or after `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    const { inFlight, acceptance, environment } = this.#parts
    await Promise.all([acceptance.stop(limitMs), settledWithin(inFlight.ended(), limitMs, environment)])
  }
}
