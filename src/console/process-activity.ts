import { LatestMap } from '../base/latest-map.js'
import type { VerifiedCallback } from '../callback/callback.js'
import type { OutcomeCode } from '../callback/outcomes.js'
import type { ReceiverEvents } from '../events/event-channel.js'
import type { AnsweredEvent, ExplainedEvent } from '../events/lifecycle-events.js'
import { ClockSkew } from '../telemetry/clock-skew.js'
import { RefusalCounts, type RefusalCount } from './refusal-counts.js'

/** A refused request. Key and event type are unverified. */
interface RefusedRequest {
  readonly at: number
  readonly code: OutcomeCode
  readonly status: number
  readonly idempotencyKey: string | undefined
  readonly eventType: string | undefined
}

interface FoundCause extends ExplainedEvent {
  /** When it was found last. */
  readonly at: number
  /** How often it was found. */
  readonly count: number
}

export interface SecretUse {
  readonly fingerprint: string
  readonly eventType: string
  readonly at: number
}

/** Unauthenticated senders can cause any number of refusals, so the memory for them must be bounded. */
const MAX_LATEST = 50
const MAX_CAUSES = 20
/** A bound, because a `subscriptions` function may return any number of secrets. */
const MAX_SECRETS = 100

/** The facts about the receiver or worker of this process that the pages show. It collects them from the event channel. */
export class ProcessActivity {
  readonly since: number
  readonly #clock: () => number
  readonly #counts: RefusalCounts
  readonly #skew: ClockSkew
  readonly #latest: RefusedRequest[] = []
  /** By cause and certainty. */
  readonly #causes = new LatestMap<string, FoundCause>(MAX_CAUSES)
  /** By fingerprint and event type, because subscriptions may share a secret. */
  readonly #secrets = new LatestMap<string, SecretUse>(MAX_SECRETS)
  readonly #ends: readonly (() => void)[]

  /** `clock`: milliseconds since 1970; `now`: a monotonic clock in milliseconds. */
  constructor(events: ReceiverEvents, clock: () => number, now: () => number) {
    this.since = clock()
    this.#clock = clock
    this.#counts = new RefusalCounts(clock)
    this.#skew = new ClockSkew(now)
    this.#ends = [
      events.on('refused', (event) => this.#addRefusal(event)),
      events.on('answered', ({ outcome }) => {
        if (outcome.callback) this.#addVerified(outcome.callback)
      }),
      events.on('explained', (event) => this.#addCause(event)),
    ]
  }

  get refusals(): readonly RefusalCount[] {
    return this.#counts.all
  }

  /** The latest refused requests, the latest first. */
  get latest(): readonly RefusedRequest[] {
    return this.#latest
  }

  /** The causes that were found, the latest first. */
  get causes(): readonly FoundCause[] {
    return [...this.#causes.values()].toReversed()
  }

  /** The secrets that have verified a callback, the latest first. */
  get secrets(): readonly SecretUse[] {
    return [...this.#secrets.values()].toReversed()
  }

  /** An upper bound of how far the clock of this machine is ahead of the clock of the service, in milliseconds. */
  get skewMs(): number | undefined {
    return this.#skew.ms
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  #addRefusal({ outcome: { code, status }, unverified }: AnsweredEvent): void {
    this.#counts.add(code)
    this.#latest.unshift({ at: this.#clock(), code, status, ...unverified })
    this.#latest.splice(MAX_LATEST)
  }

  #addCause(event: ExplainedEvent): void {
    const { cause, togetherWith = '', certainty } = event
    const key = `${cause} ${togetherWith} ${certainty}`
    const count = (this.#causes.get(key)?.count ?? 0) + 1
    this.#causes.set(key, { ...event, at: this.#clock(), count })
  }

  #addVerified({ signedAt, receivedAt, secretFingerprint, subscription }: VerifiedCallback): void {
    this.#skew.add(signedAt, receivedAt)
    const { eventTypeName } = subscription
    this.#secrets.set(`${secretFingerprint} ${eventTypeName}`, {
      fingerprint: secretFingerprint,
      eventType: eventTypeName,
      at: receivedAt.getTime(),
    })
  }
}
