import { performance } from 'node:perf_hooks'
import { nextTick } from '../base/next-tick.js'
import { startProcessorTimer, type ProcessorTimer } from '../base/processor-time.js'
import { withTimeout } from '../base/timeout.js'
import type { Tolerance } from '../callback/authenticate.js'
import { onlyValue, ownSubscriptionId } from '../callback/callback.js'
import type { AuthenticatorSettings } from '../callback/authenticator.js'
import type { PreparedSubscription } from '../callback/prepared-subscription.js'
import type { Explanation, Finding } from '../diagnosis/index.js'
import type { EventChannel } from '../events/event-channel.js'
import type { AnsweredEvent } from '../events/lifecycle-events.js'
import { answeredEvent, type AnsweredRequest } from '../events/publish-answer.js'
import { silentLogger, type Logger } from '../logging/logger.js'

/** Tests have others. */
export const DIAGNOSIS_BOUNDS = {
  /** At most one refused callback is explained in this time, in milliseconds. */
  intervalMs: 10_000,
  /** How many milliseconds of processor time explanations may take in any minute. */
  msPerMinute: 200,
}

/** The processor time that one explanation may take, as far as the minute has as much left. */
const MAX_MS = 50
/** A search for a larger body would take longer than `MAX_MS`. */
const MAX_BODY_BYTES = 65_536
/** A list of a thousand tenants takes longer to prepare than the search itself. */
const MAX_SUBSCRIPTIONS = 100
const MINUTE_MS = 60_000

interface DiagnosisParts {
  readonly authentication: Pick<AuthenticatorSettings, 'subscriptions' | 'dependencyTimeoutMs' | 'clock'> &
    Tolerance
  readonly logger: Logger
  /** Where each finding is published. */
  readonly events: EventChannel
  /** Milliseconds of a clock that is never set. @default performance.now */
  readonly now?: () => number
  /** @default the processor time of this thread */
  readonly startTimer?: () => Pick<ProcessorTimer, 'usedMs'>
}

/**
 * Explains refused signatures in the running receiver, after the answer. Anybody can cause refusals, so the number of
 * explanations and their time are bounded, and of all other refused requests nothing is kept.
 */
export class RefusalDiagnosis {
  readonly #authentication: DiagnosisParts['authentication']
  readonly #logger: Logger
  readonly #events: EventChannel
  readonly #now: () => number
  readonly #startTimer: () => Pick<ProcessorTimer, 'usedMs'>
  #notBefore = -Infinity
  #runs: { readonly at: number; readonly ms: number }[] = []

  constructor({ authentication, logger, events, now, startTimer }: DiagnosisParts) {
    this.#authentication = authentication
    this.#logger = logger
    this.#events = events
    this.#now = now ?? (() => performance.now())
    this.#startTimer = startTimer ?? startProcessorTimer
  }

  /** Explains this request soon, if its signature did not match and the bounds allow it. */
  consider(answered: AnsweredRequest): void {
    const { outcome, request } = answered
    const { body } = request
    if (outcome.code !== 'ERR_SIGNATURE_MISMATCH' || !body || body.length > MAX_BODY_BYTES) return
    if (!this.#isHeard) return
    const now = this.#now()
    if (now < this.#notBefore || this.#msLeft(now) < 1) return
    this.#notBefore = now + DIAGNOSIS_BOUNDS.intervalMs
    // A copy: the application may own the buffer.
    void this.#explain(answered, Buffer.from(body))
  }

  async #explain(answered: AnsweredRequest, body: Buffer): Promise<void> {
    const { subscriptions, dependencyTimeoutMs, clock, toleranceMs, futureToleranceMs } = this.#authentication
    try {
      const receivedAt = new Date(clock())
      // The search blocks the event loop, so the other callbacks of the batch are answered first.
      await nextTick()
      const { unverified } = answeredEvent(answered)
      const { path, headers, rawHeaders } = answered.request
      const hints = { eventType: onlyValue(headers.eventType), path }
      const all = await withTimeout(
        Promise.resolve(subscriptions(hints)),
        dependencyTimeoutMs,
        'subscriptions()',
      )
      // Loaded only when needed, because its 22 modules would make `import 'countersign'` a tenth slower.
      const { explainCallback } = await import('../diagnosis/index.js')
      const { verified, findings, stoppedBy } = this.#measured((maxMs) =>
        explainCallback(
          { path, rawHeaders, body, receivedAt },
          { subscriptions: mostLikely(all, hints.eventType), toleranceMs, futureToleranceMs, maxMs },
        ),
      )
      const [finding] = findings
      // A subscriptions function may return the secret by now.
      if (verified || !finding) return
      this.#write(finding, unverified, stoppedBy)
    } catch (error) {
      this.#logger.warn({ code: 'WARN_DIAGNOSIS_FAILED', err: error }, 'a refused callback was not explained')
    }
  }

  /** The line and the event contain no secret, no signature and no body. `request` is unverified. */
  #write(
    { cause, togetherWith, certainty, message, cure, details }: Finding,
    request: AnsweredEvent['unverified'],
    stoppedBy: Explanation['stoppedBy'],
  ): void {
    const { subscription, changes, signedUrl, sign } = details
    const fields = {
      code: 'WARN_SIGNATURE_EXPLAINED',
      ...request,
      cause,
      togetherWith,
      certainty,
      changes,
      signedUrl,
      subscription,
      sign,
      // The search ended before everything was tried, so a proven cause may exist.
      stoppedBy: certainty === 'likely' ? stoppedBy : undefined,
      cure,
    }
    this.#logger.warn(fields, `a signature did not match (${certainty}): ${message}`)
    this.#events.publish('explained', { cause, ...(togetherWith && { togetherWith }), certainty, cure })
  }

  /** Runs a search with the time that is left, and subtracts what it used from the minute, also if it fails. */
  #measured(search: (maxMs: number) => Explanation): Explanation {
    const at = this.#now()
    const timer = this.#startTimer()
    try {
      return search(Math.max(1, Math.min(MAX_MS, Math.floor(this.#msLeft(at)))))
    } finally {
      this.#runs.push({ at, ms: timer.usedMs() })
    }
  }

  get #isHeard(): boolean {
    return this.#logger !== silentLogger || this.#events.has('explained')
  }

  #msLeft(now: number): number {
    this.#runs = this.#runs.filter(({ at }) => now - at < MINUTE_MS)
    return DIAGNOSIS_BOUNDS.msPerMinute - this.#runs.reduce((sum, { ms }) => sum + ms, 0)
  }
}

function mostLikely(all: readonly PreparedSubscription[], eventType: string | undefined) {
  const ofType = all.filter(({ eventTypeName }) => eventTypeName === eventType)
  const others = all.filter(({ eventTypeName }) => eventTypeName !== eventType)
  return [...ofType, ...others].slice(0, MAX_SUBSCRIPTIONS).map((each) => ({
    id: ownSubscriptionId(each),
    eventTypeName: each.eventTypeName,
    callbackUrl: each.callbackUrl,
    secret: each.secrets,
  }))
}
