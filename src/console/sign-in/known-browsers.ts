const MAX_BROWSERS = 1_000

/** The browsers with which users have signed in. They are in the memory of this process. */
export class KnownBrowsers {
  /** The name of the user by the secret of the browser. The one that signed in last is the last. */
  readonly #names = new Map<string, string>()

  /** Records that this user has signed in. A browser is known for one user, the latest. */
  remember(secret: string, name: string): void {
    // Deleted first, so that it becomes the last.
    this.#names.delete(secret)
    this.#names.set(secret, name)
    if (this.#names.size > MAX_BROWSERS) this.#names.delete(this.#names.keys().next().value!)
  }

  isKnown(secret: string, name: string): boolean {
    return this.#names.get(secret) === name
  }
}
