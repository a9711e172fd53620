import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import type { CallbackEvent, CallbackIdentity } from '../callback/callback.js'
import type { Claim, ClaimResult, IdempotencyStore } from '../idempotency/store.js'
import { withTimeout } from '../base/timeout.js'
import type { EventChannel } from '../events/event-channel.js'
import type { Logger } from '../logging/logger.js'
import { outcome, type Outcome } from '../callback/outcomes.js'
import type { Authenticated, Acceptance } from './acceptance.js'
import { InFlight } from './in-flight.js'
import type { FailedEvent } from '../events/lifecycle-events.js'
import type { Dispatcher } from '../handlers/dispatcher.js'
import { endOrAbort } from '../handlers/end-or-abort.js'
import type { Handlers } from '../handlers/handlers.js'

interface InlineAcceptanceParts {
  readonly handlers: Handlers
  readonly dispatcher: Dispatcher
  readonly store: IdempotencyStore
  readonly leaseMs: number
  /** How long one call of the store may take, in milliseconds. */
  readonly dependencyTimeoutMs: number
  readonly events: EventChannel
  readonly logger: Logger
}

/** Runs handlers before the answer. The idempotency store makes sure that they run once. */
export class InlineAcceptance implements Acceptance {
  readonly #parts: InlineAcceptanceParts
  readonly #inFlight = new InFlight()
  readonly #abort = new AbortController()

  constructor(parts: InlineAcceptanceParts) {
    this.#parts = parts
    // Every running handler may listen to it. Node prints a warning about a leak from the eleventh listener on.
    setMaxListeners(Infinity, this.#abort.signal)
  }

  get ready(): boolean {
    return true
  }

  async start(): Promise<void> {
    const { store, dependencyTimeoutMs } = this.#parts
    if (store.open) await withTimeout(store.open(), dependencyTimeoutMs, 'the idempotency store')
  }

  async accept(authenticated: Authenticated): Promise<Outcome> {
    if (authenticated.verdict === 'suspect') return outcome(authenticated.suspicion, authenticated.callback)
    const { callback, identity } = authenticated
    if (this.#parts.handlers.for(callback.type).length === 0) return outcome('ERR_HANDLER_MISSING', callback)
    this.#inFlight.begin()
    try {
      return await this.#handleOnce(callback, identity)
    } finally {
      this.#inFlight.end()
    }
  }

  idle(): Promise<void> {
    return this.#inFlight.ended()
  }

  stop(limitMs: number): Promise<void> {
    const abort = (reason: Error) => this.#abort.abort(reason)
    return endOrAbort({ ended: this.#inFlight.ended(), limitMs, abort, logger: this.#parts.logger })
  }

  async #handleOnce(event: CallbackEvent, identity: CallbackIdentity): Promise<Outcome> {
    const claimedAt = performance.now()
    let claimed
    try {
      claimed = await this.#claim(identity)
    } catch (error) {
      return outcome('ERR_STORE_UNAVAILABLE', event, error)
    }
    switch (claimed.state) {
      case 'claimed':
        return await this.#handle(event, claimed.claim, claimedAt)
      case 'completed':
        return outcome('DUPLICATE', event)
      case 'in-progress':
        return outcome('ERR_CALLBACK_IN_PROGRESS', event)
      case 'conflict':
        return outcome('ERR_IDEMPOTENCY_KEY_REUSED', event)
      case 'replay':
        return outcome('ERR_SIGNATURE_REPLAYED', event)
    }
  }

  async #claim(identity: CallbackIdentity) {
    const { store, leaseMs, dependencyTimeoutMs } = this.#parts
    const claiming = store.claim({ ...identity, leaseMs })
    try {
      const answer = await withTimeout(claiming, dependencyTimeoutMs, 'the idempotency store')
      if (!isClaimResult(answer)) throw new TypeError('the idempotency store gave no known answer')
      return answer
    } catch (error) {
      // The sender was told to retry. A claim that is granted late must not block that retry.
      Promise.resolve(claiming)
        .then((late) =>
          isClaimResult(late) && late.state === 'claimed' ? this.#release(late.claim) : undefined,
        )
        .catch(() => {})
      throw error
    }
  }

  async #handle(event: CallbackEvent, claim: Claim, claimedAt: number): Promise<Outcome> {
    const { dispatcher, dependencyTimeoutMs, leaseMs, events } = this.#parts
    const { attempt } = claim
    if (events.has('claimed')) events.publish('claimed', { entry: undefined, callback: event, attempt })
    const { result, settled } = dispatcher.dispatch(event, attempt, this.#abort.signal, {
      claimedAt,
    })
    const failure = await result
    if (failure) {
      // A handler that continues after its timeout keeps the claim, so that the callback is not handled twice at
      // the same time, and a stop waits for it. Both end with the lease, because the handler may never return.
      this.#inFlight.begin()
      const leftMs = Math.max(claimedAt + leaseMs - performance.now(), 0)
      const released = withTimeout(settled(), leftMs, 'an aborted handler')
        .then(
          () => this.#release(claim),
          () => {},
        )
        .finally(() => this.#inFlight.end())
      if (failure.code !== 'ERR_HANDLER_TIMEOUT') await released
      this.#publishFailure(failure, event, attempt, claimedAt)
      return outcome(failure.code, event, failure.error)
    }
    try {
      const completed = await withTimeout(claim.complete(), dependencyTimeoutMs, 'the idempotency store')
      this.#publishEnd(completed, event, attempt, claimedAt)
      return outcome(completed ? 'HANDLED' : 'ERR_CLAIM_LOST', event)
    } catch (error) {
      // Not released: the store may have recorded the completion before it failed.
      this.#publishFailure({ code: 'ERR_STORE_UNAVAILABLE', error }, event, attempt, claimedAt)
      return outcome('ERR_STORE_UNAVAILABLE', event, error)
    }
  }

  #publishEnd(completed: boolean, callback: CallbackEvent, attempt: number, claimedAt: number): void {
    const { events } = this.#parts
    const name = completed ? 'handled' : 'leaseLost'
    if (!events.has(name)) return
    const durationMs = performance.now() - claimedAt
    events.publish(name, { entry: undefined, callback, attempt, durationMs, error: undefined })
  }

  #publishFailure(
    failure: Pick<FailedEvent, 'code' | 'error'>,
    callback: CallbackEvent,
    attempt: number,
    claimedAt: number,
  ): void {
    const { events } = this.#parts
    if (!events.has('failed')) return
    const durationMs = performance.now() - claimedAt
    const end = { entry: undefined, callback, attempt, durationMs }
    events.publish('failed', { ...end, ...failure, retryInMs: undefined })
  }

  async #release(claim: Claim): Promise<void> {
    try {
      await withTimeout(claim.release(), this.#parts.dependencyTimeoutMs, 'the idempotency store')
    } catch (error) {
      const message =
        'a claim could not be released; the callback cannot be handled again before its lease is over'
      this.#parts.logger.warn({ err: error }, message)
    }
  }
}

function isClaimResult(answer: unknown): answer is ClaimResult {
  const { state, claim } = (answer ?? {}) as { state?: unknown; claim?: Partial<Claim> }
  if (state === 'claimed') return typeof claim?.complete === 'function' && typeof claim.release === 'function'
  return state === 'completed' || state === 'in-progress' || state === 'conflict' || state === 'replay'
}
