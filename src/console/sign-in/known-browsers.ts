import { LatestMap } from '../../base/latest-map.js'

const MAX_BROWSERS = 1_000

/** The browsers with which users have signed in. They are in the memory of this process. */
export class KnownBrowsers {
  /** The name of the user by the secret of the browser. */
  readonly #names = new LatestMap<string, string>(MAX_BROWSERS)

  /** Records that this user has signed in. A browser is known for one user, the latest. */
  remember(secret: string, name: string): void {
    this.#names.set(secret, name)
  }

  isKnown(secret: string, name: string): boolean {
    return this.#names.get(secret) === name
  }
}
