import { untilAborted } from './abort.js'
import type { AccessToken } from './access-token.js'

interface TimedToken extends AccessToken {
  /** When it was asked for, by the clock of the cache: its lifetime began no sooner. */
  readonly requestedAtMs: number
}

/** A token that somebody fetches at this moment, for all who wait for it. */
interface Renewal {
  readonly promise: Promise<string>
  readonly controller: AbortController
  waiters: number
}

interface CachedToken {
  readonly accessToken: string
  readonly requestedAtMs: number
  readonly renewAtMs: number
}

/** How many of the tokens that were received are remembered: without a lifetime there is one for each call. */
const MAX_RECEIVED = 1_000
const MAX_MARGIN_MS = 30_000
const MAX_LIFETIME_MS = 86_400_000

/** Holds the token for as long as it lives (SERVICE 5, point 3), and has it fetched once for all who wait. */
export class TokenCache {
  readonly #request: (signal: AbortSignal) => Promise<TimedToken>
  readonly #clock: () => number
  #cached: CachedToken | undefined
  #renewal: Renewal | undefined
  /** An earlier token may still be good, and may come back in an answer or an error. */
  readonly #received = new Set<string>()

  constructor(request: (signal: AbortSignal) => Promise<TimedToken>, clock: () => number) {
    this.#request = request
    this.#clock = clock
  }

  /**
   * A token that is not known to have expired. `refused` is one that the service has just answered 401 to: another is
   * given, the one that somebody else has fetched in the meantime, or else a new one.
   * @throws ClientError; the signal's reason
   */
  async get(signal: AbortSignal, refused?: string): Promise<string> {
    signal.throwIfAborted()
    if (this.#cached?.accessToken === refused) this.#cached = undefined
    if (this.#cached && this.#isFresh(this.#cached)) return this.#cached.accessToken

    const renewal = (this.#renewal ??= this.#renew())
    renewal.waiters++
    try {
      return await untilAborted(renewal.promise, signal)
    } finally {
      renewal.waiters--
      if (renewal.waiters === 0 && this.#renewal === renewal) {
        this.#renewal = undefined
        renewal.controller.abort()
      }
    }
  }

  /** The tokens that were received, the expired ones and those without a lifetime included. */
  get received(): readonly string[] {
    return [...this.#received]
  }

  #renew(): Renewal {
    const controller = new AbortController()
    const renewal: Renewal = {
      controller,
      waiters: 0,
      promise: this.#request(controller.signal)
        .then((token) => {
          this.#remember(token.accessToken)
          this.#cached = cachedToken(token)
          return token.accessToken
        })
        .finally(() => {
          if (this.#renewal === renewal) this.#renewal = undefined
        }),
    }
    return renewal
  }

  #remember(token: string): void {
    // Again at the end: the set forgets in the order of insertion.
    this.#received.delete(token)
    this.#received.add(token)
    if (this.#received.size > MAX_RECEIVED) this.#received.delete(this.#received.values().next().value!)
  }

  // A clock that was set back would make it live longer.
  #isFresh({ requestedAtMs, renewAtMs }: CachedToken): boolean {
    const now = this.#clock()
    return now >= requestedAtMs && now < renewAtMs
  }
}

/**
 * Renewed a little early, as a request takes a while to arrive: half a minute, or a tenth of a short life. A lifetime of
 * more than a day is taken for a mistake, such as milliseconds or a date. Undefined without a lifetime above zero: such a
 * token is used by those who wait for it, and not kept.
 */
function cachedToken({ accessToken, requestedAtMs, expiresIn = 0 }: TimedToken): CachedToken | undefined {
  const lifetimeMs = Math.min(expiresIn * 1000, MAX_LIFETIME_MS)
  if (!(lifetimeMs > 0)) return undefined
  const marginMs = Math.min(lifetimeMs / 10, MAX_MARGIN_MS)
  return { accessToken, requestedAtMs, renewAtMs: requestedAtMs + lifetimeMs - marginMs }
}
