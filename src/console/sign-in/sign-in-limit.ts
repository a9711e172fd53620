import { LatestMap } from '../../base/latest-map.js'

/** Who tries to sign in. */
export interface SignInAttempt {
  readonly name: string
  readonly address: string
  /** The secret of the browser, if this user has signed in with it before. */
  readonly knownBrowser?: string | undefined
}

interface Failures {
  readonly count: number
  readonly latestAt: number
  readonly waitUntil: number
}

/** So many failures have no delay, because users mistype passwords. */
const WITHOUT_DELAY = 4
const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 900_000
const FORGOTTEN_AFTER_MS = 86_400_000
const MAX_COUNTED = 1_000

/** The failures of all unknown browsers together: so many at once, and then one in each interval. */
const MAX_AT_ONCE = 100
const INTERVAL_MS = 60_000

/**
 * Delays attempts to sign in after wrong passwords. The delay doubles with each failure of one user at one address, up to 15 minutes:
 * at most 110 guesses a day. All addresses and names together have at most 1,540 guesses a day.
 *
 * Many users may share the address of a proxy. Neither limit counts against a browser with which the user has signed in before. It
 * has delays of its own. So somebody at the same address who guesses passwords does not lock the user out of that browser. (OWASP:
 * Slow Down Online Guessing Attacks with Device Cookies.)
 */
export class SignInLimit {
  /** By user and address, or by known browser. */
  readonly #failures = new LatestMap<string, Failures>(MAX_COUNTED)
  readonly #now: () => number
  /** When the failures of all unknown browsers together are forgotten. */
  #allForgottenAt = -Infinity

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** In how many milliseconds the password may be tried; 0 if it may be now. */
  waitMs(attempt: SignInAttempt): number {
    const now = this.#now()
    const own = (this.#failures.get(keyOf(attempt))?.waitUntil ?? now) - now
    const all =
      attempt.knownBrowser === undefined ? this.#allForgottenAt - (MAX_AT_ONCE - 1) * INTERVAL_MS - now : 0
    return Math.max(0, own, all)
  }

  failed(attempt: SignInAttempt): void {
    const now = this.#now()
    const key = keyOf(attempt)
    const before = this.#failures.get(key)
    const isForgotten = before === undefined || now >= before.latestAt + FORGOTTEN_AFTER_MS
    const count = isForgotten ? 1 : before.count + 1
    const delayMs =
      count > WITHOUT_DELAY
        ? Math.min(FIRST_DELAY_MS * 2 ** (count - WITHOUT_DELAY - 1), LONGEST_DELAY_MS)
        : 0
    this.#failures.set(key, { count, latestAt: now, waitUntil: now + delayMs })
    if (attempt.knownBrowser === undefined)
      this.#allForgottenAt = Math.max(this.#allForgottenAt, now) + INTERVAL_MS
  }

  succeeded(attempt: SignInAttempt): void {
    this.#failures.delete(keyOf(attempt))
  }
}

function keyOf({ name, address, knownBrowser }: SignInAttempt): string {
  return JSON.stringify(knownBrowser === undefined ? [name, address] : [knownBrowser])
}
