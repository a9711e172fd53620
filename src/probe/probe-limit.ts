import { performance } from 'node:perf_hooks'

const PER_SECOND = 20
const PER_MINUTE = 120

/** How far the time in a marker may differ from the receiver's clock, in milliseconds. */
export const PROBE_WINDOW_MS = 300_000

/**
 * Limits the requests whose markers are verified, genuine or not, before any HMAC. A flood of forged markers can
 * keep probes from being answered, but it costs the receiver no more than this.
 */
export class ProbeLimit {
  readonly #now: () => number
  #secondStart = -Infinity
  #minuteStart = -Infinity
  #inSecond = 0
  #inMinute = 0

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  admits(): boolean {
    const now = this.#now()
    if (now - this.#secondStart >= 1_000) [this.#secondStart, this.#inSecond] = [now, 0]
    if (now - this.#minuteStart >= 60_000) [this.#minuteStart, this.#inMinute] = [now, 0]
    if (this.#inSecond >= PER_SECOND || this.#inMinute >= PER_MINUTE) return false
    this.#inSecond++
    this.#inMinute++
    return true
  }
}

/**
 * The nonces of answered probes, each for as long as its marker is in the window. Their number is limited by
 * `ProbeLimit`, because only verified markers are added.
 */
export class UsedNonces {
  readonly #expiries = new Map<string, number>()

  has(nonce: string): boolean {
    return this.#expiries.has(nonce)
  }

  add(nonce: string, sentAtMs: number, now: number): void {
    for (const [used, expiresAt] of this.#expiries) if (expiresAt < now) this.#expiries.delete(used)
    this.#expiries.set(nonce, sentAtMs + PROBE_WINDOW_MS)
  }
}
