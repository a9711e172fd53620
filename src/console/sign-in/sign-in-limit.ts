interface Failures {
  count: number
  readonly endsAt: number
}

const WINDOW_MS = 300_000
const MAX_BY_ADDRESS = 10
/** A limit for all addresses together, because an attacker can use many addresses. */
const MAX_IN_ALL = 100
const MAX_ADDRESSES = 1_000

/** Limits how many wrong passwords can be tried in five minutes: for each address, and for all addresses together. */
export class SignInLimit {
  /** In the order of the first failure of each address. */
  readonly #byAddress = new Map<string, Failures>()
  readonly #now: () => number
  #inAll: Failures = { count: 0, endsAt: -Infinity }

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** In how many milliseconds this address may try again; 0 if it may now. */
  waitMs(address: string): number {
    const now = this.#now()
    const waitFor = (failures: Failures | undefined, max: number): number =>
      failures && failures.count >= max ? Math.max(0, failures.endsAt - now) : 0
    return Math.max(waitFor(this.#byAddress.get(address), MAX_BY_ADDRESS), waitFor(this.#inAll, MAX_IN_ALL))
  }

  failed(address: string): void {
    const now = this.#now()
    if (now >= this.#inAll.endsAt) this.#inAll = { count: 0, endsAt: now + WINDOW_MS }
    this.#inAll.count++
    let failures = this.#byAddress.get(address)
    if (!failures || now >= failures.endsAt) {
      this.#byAddress.delete(address)
      if (this.#byAddress.size >= MAX_ADDRESSES) this.#byAddress.delete(this.#byAddress.keys().next().value!)
      this.#byAddress.set(address, (failures = { count: 0, endsAt: now + WINDOW_MS }))
    }
    failures.count++
  }
}
