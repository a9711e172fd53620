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

/** Processes one callback from bytes and headers to its outcome. */
export class Pipeline {
  readonly #authenticate: Authenticator
  readonly #acceptance: Acceptance
  readonly #stopping: AbortSignal
  readonly #events: EventChannel
  readonly #environment: Environment
  readonly #inFlight: InFlight

  constructor(
    authenticate: Authenticator,
    acceptance: Acceptance,
    stopping: AbortSignal,
    events: EventChannel,
    inFlight: InFlight,
    environment: Environment,
  ) {
    this.#authenticate = authenticate
    this.#acceptance = acceptance
    this.#stopping = stopping
    this.#events = events
    this.#inFlight = inFlight
    this.#environment = environment
  }

  outcomeOf(request: ReadRequest): MaybePending<Outcome> {
    return this.#inFlight.during(() =>
      whenDone(this.#authenticate(request), (result) => this.#accept(result, request)),
    )
  }

  #accept(result: Authentication, request: ReadRequest): MaybePending<Outcome> {
    if (result.verdict === 'refused') return outcome(result.code, undefined, result.error)
    // The subscription may have been found only after stop(), and the caller of stop() has closed what the
    // handlers need.
    if (this.#stopping.aborted) return outcome('ERR_SHUTTING_DOWN', result.callback)
    if (result.verdict === 'genuine' && this.#events.has('accepted'))
      this.#events.publish('accepted', { callback: result.callback })
    return this.#events.isSurrounded('accept')
      ? this.#acceptWithin(result, request)
      : this.#acceptance.accept(result, request)
  }

  #acceptWithin(result: Authenticated, request: ReadRequest): MaybePending<Outcome> {
    const { callback } = result
    const { arrivedAt } = request
    const step: AcceptStep = {
      callback,
      arrivedAt,
      headerValues: (name) => headerValues(request.rawHeaders, name),
    }
    return this.#events.within('accept', step, () =>
      this.#acceptance.accept(result, request, step.traceContext),
    )
  }

  /** Resolves once every callback whose body has arrived has its outcome, and the acceptance is idle. */
  async idle(): Promise<void> {
    await this.#inFlight.ended()
    await this.#acceptance.idle?.()
  }

  /** Resolves once every accepted callback has its outcome, or after `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    await Promise.all([
      this.#acceptance.stop(limitMs),
      settledWithin(this.#inFlight.ended(), limitMs, this.#environment),
    ])
  }
}
