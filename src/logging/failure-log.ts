import { performance } from 'node:perf_hooks'
import type { Logger } from './logger.js'

/** While an operation keeps failing, one line is written in this time, in milliseconds. */
const INTERVAL_MS = 60_000

/**
 * The lines about one operation that is repeated until it succeeds. Its first failure is logged with the error, and further
 * ones are counted: an inbox on a full disk would otherwise write its stack into the log every second.
 */
export class FailureLog {
  readonly #logger: Logger
  readonly #message: string
  readonly #now: () => number
  #failures = 0
  #loggedAt = -Infinity

  /** `now`: milliseconds of a clock that is never set. */
  constructor(logger: Logger, message: string, now = () => performance.now()) {
    this.#logger = logger
    this.#message = message
    this.#now = now
  }

  failed(fields: object): void {
    this.#failures++
    const now = this.#now()
    if (now - this.#loggedAt < INTERVAL_MS) return
    this.#loggedAt = now
    const failures = this.#failures
    this.#logger.error(failures === 1 ? fields : { ...fields, failures }, this.#message)
  }

  /** Returns the number of failures since the last success. */
  succeeded(): number {
    const failures = this.#failures
    this.#failures = 0
    this.#loggedAt = -Infinity
    return failures
  }
}
