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

/** The failures for one name in all unknown browsers together: so many at once, and then one in each interval. */
const MAX_AT_ONCE = 100
const INTERVAL_MS = 60_000

/** The failures for some names. */
interface Counted {
  /** By name and address, or by name and known browser. */
  readonly failures: LatestMap<string, Failures>
  /** By name, when the failures of all unknown browsers together are forgotten. */
  readonly allForgottenAt: LatestMap<string, number>
}

/**
 * Delays attempts to sign in after wrong passwords. The delay doubles with each failure for one name at one address, up to 15 minutes:
 * at most 110 guesses a day. All addresses together have at most 1,540 guesses a day for one name.
 *
 * There is no limit for all names together. Anybody could reach it, and nobody could then sign in. Names of users and other names are
 * counted apart: other names are unlimited in number, and would displace what is known about the users. Other names are delayed in
 * the same way, so that an answer does not tell which names exist.
 *
 * Many users may share the address of a proxy. Neither limit counts against a browser with which the user has signed in before. It
 * has delays of its own. So somebody at the same address who guesses passwords does not lock the user out of that browser. (OWASP:
 * Slow Down Online Guessing Attacks with Device Cookies.)
 */
export class SignInLimit {
  readonly #users = noneCounted()
  readonly #others = noneCounted()
  readonly #now: () => number
  readonly #isUser: (name: string) => boolean

  /** `now`: a monotonic clock in milliseconds. `isUser`: whether there is a user of this name. */
  constructor(now: () => number, isUser: (name: string) => boolean) {
    this.#now = now
    this.#isUser = isUser
  }

  /** In how many milliseconds the password may be tried; 0 if it may be now. */
  waitMs(attempt: SignInAttempt): number {
    const now = this.#now()
    const { failures, allForgottenAt } = this.#countedFor(attempt)
    const own = (failures.get(keyOf(attempt))?.waitUntil ?? now) - now
    const forgottenAt = attempt.knownBrowser === undefined ? (allForgottenAt.get(attempt.name) ?? now) : now
    return Math.max(0, own, forgottenAt - (MAX_AT_ONCE - 1) * INTERVAL_MS - now)
  }

  failed(attempt: SignInAttempt): void {
    const now = this.#now()
    const { failures, allForgottenAt } = this.#countedFor(attempt)
    const key = keyOf(attempt)
    const before = failures.get(key)
    const isForgotten = before === undefined || now >= before.latestAt + FORGOTTEN_AFTER_MS
    const count = isForgotten ? 1 : before.count + 1
    const delayMs =
      count > WITHOUT_DELAY
        ? Math.min(FIRST_DELAY_MS * 2 ** (count - WITHOUT_DELAY - 1), LONGEST_DELAY_MS)
        : 0
    failures.set(key, { count, latestAt: now, waitUntil: now + delayMs })
    if (attempt.knownBrowser !== undefined) return
    allForgottenAt.set(attempt.name, Math.max(allForgottenAt.get(attempt.name) ?? now, now) + INTERVAL_MS)
  }

  succeeded(attempt: SignInAttempt): void {
    this.#users.failures.delete(keyOf(attempt))
  }

  #countedFor({ name }: SignInAttempt): Counted {
    return this.#isUser(name) ? this.#users : this.#others
  }
}

function noneCounted(): Counted {
  return { failures: new LatestMap(MAX_COUNTED), allForgottenAt: new LatestMap(MAX_COUNTED) }
}

function keyOf({ name, address, knownBrowser }: SignInAttempt): string {
  return JSON.stringify(
    knownBrowser === undefined ? [name, 'address', address] : [name, 'browser', knownBrowser],
  )
}
