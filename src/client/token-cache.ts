import { untilAborted } from '../base/abort.js'
import { LatestMap } from '../base/latest-map.js'
import type { AccessToken } from './access-token.js'

interface TimedToken extends AccessToken {
  /** When it was requested, by the clock of the cache. Its lifetime did not begin earlier. */
  readonly requestedAtMs: number
}

/** A token request in progress, for all callers that wait for it. */
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

/** How many received tokens are remembered. Without a lifetime there is one for each call. */
const MAX_RECEIVED = 1_000
const MAX_MARGIN_MS = 30_000
const MAX_LIFETIME_MS = 86_400_000

/** Caches the token during its lifetime (SERVICE 5, point 3), and requests it once for all concurrent callers. */
export class TokenCache {
  readonly #request: (signal: AbortSignal) => Promise<TimedToken>
  readonly #clock: () => number
  #cached: CachedToken | undefined
  #renewal: Renewal | undefined
  /** An earlier token may still be valid, and may appear in an answer or an error. */
  readonly #received = new LatestMap<string, true>(MAX_RECEIVED)

  constructor(request: (signal: AbortSignal) => Promise<TimedToken>, clock: () => number) {
    this.#request = request
    this.#clock = clock
  }

  /**
   * A token that is not known to have expired. `refused` is a token that the service has just answered with 401:
   * the result is then another token, one that a concurrent caller has requested in the meantime, or a new one.
   * @throws ClientError; the reason of the signal
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

  /** The received tokens, including expired ones and those without a lifetime. */
  get received(): readonly string[] {
    return [...this.#received.keys()]
  }

  #renew(): Renewal {
    const controller = new AbortController()
    const renewal: Renewal = {
      controller,
      waiters: 0,
      promise: this.#request(controller.signal)
        .then((token) => {
          this.#received.set(token.accessToken, true)
          this.#cached = cachedToken(token)
          return token.accessToken
        })
        .finally(() => {
          if (this.#renewal === renewal) this.#renewal = undefined
        }),
    }
    return renewal
  }

  // If the clock was set back, it would be used too long.
  #isFresh({ requestedAtMs, renewAtMs }: CachedToken): boolean {
    const now = this.#clock()
    return now >= requestedAtMs && now < renewAtMs
  }
}

/**
 * When to renew a token: half a minute before it expires, or a tenth of a short lifetime, because a request takes
 * time to arrive. A lifetime of more than a day is assumed to be a mistake, such as milliseconds or a date.
 * Undefined without a lifetime above zero: the callers that wait for such a token use it, and it is not cached.
 */
function cachedToken({ accessToken, requestedAtMs, expiresIn = 0 }: TimedToken): CachedToken | undefined {
  const lifetimeMs = Math.min(expiresIn * 1000, MAX_LIFETIME_MS)
  if (!(lifetimeMs > 0)) return undefined
  const marginMs = Math.min(lifetimeMs / 10, MAX_MARGIN_MS)
  return { accessToken, requestedAtMs, renewAtMs: requestedAtMs + lifetimeMs - marginMs }
}
