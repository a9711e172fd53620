import { performance } from 'node:perf_hooks'

const SECOND_MS = 1_000

/** Called at the end of a window with the number of lines that were not written, and the length of the window. */
type ReportSuppressed = (kind: string, suppressed: number, overMs: number) => void

/**
 * Limits the lines of a kind per second, or per longer window, and counts the others. Without the limit, unauthenticated
 * requests could fill the disk, and the important lines would be hard to find.
 */
export class LogThrottle {
  readonly #perWindow: number
  readonly #windowMs: number
  readonly #report: ReportSuppressed
  readonly #seen = new Map<string, number>()
  #startedAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(perWindow: number, report: ReportSuppressed, windowMs = SECOND_MS) {
    this.#perWindow = perWindow
    this.#windowMs = windowMs
    this.#report = report
  }

  /** Whether a line of this kind may be written now. */
  admits(kind: string): boolean {
    const now = performance.now()
    if (now - this.#startedAt >= this.#windowMs) {
      this.flush()
      this.#startedAt = now
    }
    const seen = (this.#seen.get(kind) ?? 0) + 1
    this.#seen.set(kind, seen)
    if (seen <= this.#perWindow) return true
    this.#timer ??= setTimeout(() => this.flush(), this.#windowMs - (now - this.#startedAt)).unref()
    return false
  }

  /** Ends the window and reports the number of lines that were not written. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const overMs = Math.round(performance.now() - this.#startedAt)
    this.#startedAt = -Infinity
    const counts = [...this.#seen]
    this.#seen.clear()
    for (const [kind, seen] of counts) {
      if (seen > this.#perWindow) this.#report(kind, seen - this.#perWindow, overMs)
    }
  }
}
