import { windowLimit } from '../base/window-limit.js'

const PER_SECOND = 20
const PER_MINUTE = 120

/** How far the time in a marker may differ from the receiver's clock, in milliseconds. */
export const PROBE_WINDOW_MS = 300_000

/**
 * For how long an inbox or a store remembers a probe, in milliseconds. Its time may be a window ahead, and it is accepted for
 * another window; the clocks of the receivers may differ by as much.
 */
export const PROBE_MEMORY_MS = 3 * PROBE_WINDOW_MS

/**
 * Limits the requests whose markers are verified, genuine or not, before any HMAC. A flood of forged markers can
 * keep probes from being answered, but it costs the receiver no more than this.
 */
export function probeLimit(): () => boolean {
  const inSecond = windowLimit(PER_SECOND, 1_000)
  const inMinute = windowLimit(PER_MINUTE, 60_000)
  return () => inSecond() && inMinute()
}

/**
 * The nonces of answered probes, each for as long as its marker is in the window. Their number is limited by
 * `probeLimit`, because only verified markers are added.
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
