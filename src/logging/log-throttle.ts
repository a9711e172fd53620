import { performance } from 'node:perf_hooks'

const WINDOW_MS = 1_000

/** Said once a window is over: how many lines of this kind were not written, and how long the window was. */
export type ReportSuppressed = (kind: string, suppressed: number, overMs: number) => void

/**
 * Lets so many lines of a kind through in each second, and counts the rest. Senders without a secret could otherwise fill
 * the disk with lines, and what is worth reading would be lost between them.
 */
export class LogThrottle {
  readonly #perSecond: number
  readonly #report: ReportSuppressed
  readonly #seen = new Map<string, number>()
  #startedAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(perSecond: number, report: ReportSuppressed) {
    this.#perSecond = perSecond
    this.#report = report
  }

  /** Whether a line of this kind is to be written now. */
  admits(kind: string): boolean {
    const now = performance.now()
    if (now - this.#startedAt >= WINDOW_MS) {
      this.flush()
      this.#startedAt = now
    }
    const seen = (this.#seen.get(kind) ?? 0) + 1
    this.#seen.set(kind, seen)
    if (seen <= this.#perSecond) return true
    this.#timer ??= setTimeout(() => this.flush(), this.#startedAt + WINDOW_MS - now).unref()
    return false
  }

  /** Ends the window: reports what it held back. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const overMs = Math.round(performance.now() - this.#startedAt)
    this.#startedAt = -Infinity
    const counts = [...this.#seen]
    this.#seen.clear()
    for (const [kind, seen] of counts) {
      if (seen > this.#perSecond) this.#report(kind, seen - this.#perSecond, overMs)
    }
  }
}
