import { LatestMap } from '../../base/latest-map.js'

/** Per user, so that nobody can displace the browsers of another user. */
const MAX_BROWSERS = 50

/** The browsers with which users have signed in. They are in the memory of this process. */
export class KnownBrowsers {
  /** The secrets of the browsers by the name of the user. */
  readonly #browsers = new Map<string, LatestMap<string, true>>()

  /** Records that this user has signed in. */
  remember(secret: string, name: string): void {
    const own = this.#browsers.get(name) ?? new LatestMap<string, true>(MAX_BROWSERS)
    this.#browsers.set(name, own.set(secret, true))
  }

  isKnown(secret: string, name: string): boolean {
    return this.#browsers.get(name)?.has(secret) === true
  }
}
