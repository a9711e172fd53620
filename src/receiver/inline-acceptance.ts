import { hash } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { CallbackEvent, CallbackIdentity } from '../callback/callback.js'
import type { Claim, ClaimResult, IdempotencyStore } from '../idempotency/store.js'
import type { Environment } from '../base/environment.js'
import { isPending, whenDone, type MaybePending } from '../base/pending.js'
import { withTimeout } from '../base/timeout.js'
import type { EventChannel } from '../events/event-channel.js'
import type { Logger } from '../logging/logger.js'
import { outcome, type Outcome } from '../callback/outcomes.js'
import type { Authenticated, Acceptance } from './acceptance.js'
import type { InFlight } from './in-flight.js'
import type { FailedEvent } from '../events/lifecycle-events.js'
import type { AttemptStep, SettleStep } from '../events/steps.js'
import type { Dispatcher, Failure } from '../handlers/dispatcher.js'
import { PROBE_MEMORY_MS } from '../probe/probe-limit.js'
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
  readonly inFlight: InFlight
  readonly logger: Logger
  readonly environment: Environment
}

/** Runs handlers before the answer. The idempotency store makes sure that they run once. */
export class InlineAcceptance implements Acceptance {
  readonly #parts: InlineAcceptanceParts
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
    const { store, dependencyTimeoutMs, environment } = this.#parts
    if (store.open)
      await withTimeout(store.open(), dependencyTimeoutMs, STORE, { keepsAlive: true, environment })
  }

  accept(authenticated: Authenticated): MaybePending<Outcome> {
    if (authenticated.verdict === 'suspect') return outcome(authenticated.suspicion, authenticated.callback)
    const { callback, identity } = authenticated
    if (this.#parts.handlers.for(callback.type).length === 0) return outcome('ERR_HANDLER_MISSING', callback)
    return this.#handleOnce(callback, identity)
  }

  rememberProbe(nonce: string): MaybePending<boolean> {
    const digest = hash('sha256', `countersign-probe ${nonce}`, 'base64')
    const request = { key: `${nonce}@countersign-probe`, bodyHash: digest, signature: digest }
    // The lease is neither completed nor released.
    const claiming = this.#parts.store.claim({ ...request, leaseMs: PROBE_MEMORY_MS })
    return whenDone(claiming, (result) => checkedClaimResult(result).state === 'claimed')
  }

  stop(limitMs: number): Promise<void> {
    const abort = (reason: Error) => this.#abort.abort(reason)
    const { inFlight, logger, environment } = this.#parts
    return endOrAbort({ ended: inFlight.ended(), limitMs, abort, logger, environment })
  }

  #inTime<Value>(asking: Promise<Value>): Promise<Value> {
    const { dependencyTimeoutMs, environment } = this.#parts
    return withTimeout(asking, dependencyTimeoutMs, STORE, { environment })
  }

  #handleOnce(event: CallbackEvent, identity: CallbackIdentity): MaybePending<Outcome> {
    const claimedAt = this.#parts.environment.monotonic()
    return whenDone(this.#claim(identity), (claimed) => {
      switch (claimed.state) {
        case 'claimed':
          return this.#attempt({ event, claim: claimed.claim, claimedAt })
        case 'completed':
          return outcome('DUPLICATE', event)
        case 'in-progress':
          return outcome('ERR_CALLBACK_IN_PROGRESS', event)
        case 'conflict':
          return outcome('ERR_IDEMPOTENCY_KEY_REUSED', event)
        case 'replay':
          return outcome('ERR_SIGNATURE_REPLAYED', event)
        case 'unknown':
          return outcome('ERR_STORE_UNAVAILABLE', event, claimed.error)
      }
    })
  }

  #claim(identity: CallbackIdentity): MaybePending<ClaimResult | Unknown> {
    const { store, leaseMs } = this.#parts
    const { key, bodyHash, signature } = identity
    try {
      const claiming = store.claim({ key, bodyHash, signature, leaseMs })
      return isPending(claiming) ? this.#claimInTime(claiming) : checkedClaimResult(claiming)
    } catch (error) {
      return { state: 'unknown', error }
    }
  }

  async #claimInTime(claiming: Promise<ClaimResult>): Promise<ClaimResult | Unknown> {
    try {
      const answer = await this.#inTime(claiming)
      // A stop no longer waits: the caller of stop() may have closed what the handlers need.
      this.#abort.signal.throwIfAborted()
      return checkedClaimResult(answer)
    } catch (error) {
      // The sender was told to retry. A claim that is granted late must not block that retry.
      Promise.resolve(claiming)
        .then((late) =>
          isClaimResult(late) && late.state === 'claimed' ? this.#release(late.claim) : undefined,
        )
        .catch(() => {})
      return { state: 'unknown', error }
    }
  }

  #attempt(run: Run): MaybePending<Outcome> {
    const { events } = this.#parts
    if (!events.isSurrounded('attempt')) return this.#handle(run)
    return events.within('attempt', stepOf(run), () => this.#handle(run))
  }

  #handle(run: Run): MaybePending<Outcome> {
    const { dispatcher, events } = this.#parts
    const { event, claim, claimedAt } = run
    if (events.has('claimed')) events.publish('claimed', stepOf(run))
    const { result, settled } = dispatcher.dispatch(event, claim.attempt, this.#abort, { claimedAt })
    return whenDone(result, (failure) => (failure ? this.#fail(run, failure, settled) : this.#complete(run)))
  }

  async #fail(run: Run, failure: Failure, settled: () => Promise<unknown>): Promise<Outcome> {
    const { event, claim, claimedAt } = run
    // A handler that continues after its timeout keeps the claim, so that the callback is not handled twice at
    // the same time, and a stop waits for it. Both end with the lease, because the handler may never return.
    const { leaseMs, inFlight, environment } = this.#parts
    const leftMs = Math.max(claimedAt + leaseMs - environment.monotonic(), 0)
    const released = inFlight.during(() =>
      withTimeout(settled(), leftMs, 'an aborted handler', { environment }).then(
        () => this.#release(claim, run),
        () => {},
      ),
    )
    if (failure.code !== 'ERR_HANDLER_TIMEOUT') await released
    this.#publishFailure(failure, run)
    const { code, error, retryAfterMs } = failure
    const failed = outcome(code, event, error)
    return retryAfterMs === undefined ? failed : { ...failed, retryAfterMs }
  }

  #complete(run: Run): MaybePending<Outcome> {
    try {
      const completing = this.#settle(run, 'complete', () => run.claim.complete())
      if (!isPending(completing)) return this.#completed(completing, run)
      return this.#inTime(completing)
        .then((completed) => this.#completed(completed, run))
        .catch((error: unknown) => this.#notCompleted(error, run))
    } catch (error) {
      return this.#notCompleted(error, run)
    }
  }

  #completed(completed: boolean, run: Run): Outcome {
    this.#publishEnd(completed, run)
    return outcome(completed ? 'HANDLED' : 'ERR_CLAIM_LOST', run.event)
  }

  #settle<Result>(
    run: Run,
    move: SettleStep['move'],
    work: () => MaybePending<Result>,
  ): MaybePending<Result> {
    const { events } = this.#parts
    if (!events.isSurrounded('settle')) return work()
    return events.within('settle', { ...stepOf(run), move }, work)
  }

  /** The claim is not released: the store may have recorded the completion before it failed. */
  #notCompleted(error: unknown, run: Run): Outcome {
    this.#publishFailure({ code: 'ERR_STORE_UNAVAILABLE', error }, run)
    return outcome('ERR_STORE_UNAVAILABLE', run.event, error)
  }

  #publishEnd(completed: boolean, run: Run): void {
    const { events } = this.#parts
    if (completed && events.has('handled')) events.publish('handled', this.#attemptOf(run))
    if (!completed && events.has('leaseLost'))
      events.publish('leaseLost', { ...this.#attemptOf(run), error: undefined })
  }

  #publishFailure({ code, error }: Pick<FailedEvent, 'code' | 'error'>, run: Run): void {
    const { events } = this.#parts
    if (events.has('failed'))
      events.publish('failed', { ...this.#attemptOf(run), code, error, retryInMs: undefined })
  }

  /** `run`: undefined if no handler was called. */
  async #release(claim: Claim, run?: Run): Promise<void> {
    try {
      const releasing = run ? this.#settle(run, 'release', () => claim.release()) : claim.release()
      if (isPending(releasing)) await this.#inTime(releasing)
    } catch (error) {
      const message =
        'a claim could not be released; the callback cannot be handled again before its lease is over'
      this.#parts.logger.warn({ err: error }, message)
    }
  }

  /** Without a spread: it made metrics twice as expensive on Node 20. */
  #attemptOf({ event, claim, claimedAt }: Run) {
    return {
      entryId: undefined,
      callback: event,
      attempt: claim.attempt,
      durationMs: this.#parts.environment.monotonic() - claimedAt,
    }
  }
}

const STORE = 'the idempotency store'

function stepOf({ event, claim }: Run): AttemptStep {
  return { entryId: undefined, callback: event, attempt: claim.attempt }
}

/** A callback whose handlers are run. */
interface Run {
  readonly event: CallbackEvent
  readonly claim: Claim
  /** By the monotonic clock. */
  readonly claimedAt: number
}

/** Whether the store has granted a claim is not known. */
interface Unknown {
  readonly state: 'unknown'
  readonly error: unknown
}

/** The answer of a store, which may be code of the application. @throws TypeError */
function checkedClaimResult(answer: unknown): ClaimResult {
  if (isClaimResult(answer)) return answer
  throw new TypeError('the idempotency store gave no known answer')
}

function isClaimResult(answer: unknown): answer is ClaimResult {
  const { state, claim } = (answer ?? {}) as { state?: unknown; claim?: Partial<Claim> }
  if (state === 'claimed') return typeof claim?.complete === 'function' && typeof claim.release === 'function'
  return state === 'completed' || state === 'in-progress' || state === 'conflict' || state === 'replay'
}
