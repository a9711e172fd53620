import { isDate } from 'node:util/types'
import { CountersignError, recognise } from '../base/errors.js'
import { property } from '../base/foreign-value.js'
import { invalidOption } from '../base/option-checks.js'

/** The longest delay that is kept, in milliseconds: a mistaken unit must not put a callback off for weeks. */
const MAX_RETRY_AFTER_MS = 86_400_000

interface RetryLaterOptions {
  /**
   * How long to wait before the next attempt: in milliseconds from now, or until this date. At most 24 hours are waited; less
   * than 0 and a date in the past count as 0. `retryAfterMs` of a `ClientError` fits.
   * @default undefined: 10 seconds for the sender; the usual delay with an inbox
   */
  readonly retryAfterMs?: number | Date | undefined
  readonly cause?: unknown
}

/**
 * Thrown by a handler when a dependency, such as a queue or a database, cannot be reached.
 *
 * - Without an inbox the sender is answered 503 instead of the 500 of a handler that failed. `retryAfterMs`, in whole seconds and
 *   at least 1, is its `Retry-After`.
 * - With an inbox the sender has been answered 200, and the attempt counts like any other that failed. The next one is due after the
 *   usual delay or after `retryAfterMs`, whichever is longer. If several handlers of an event failed, the longest counts.
 * - In a job of BullMQ the backoff of the job decides. A custom `backoffStrategy` is given this error.
 */
export class RetryLaterError extends CountersignError<'ERR_RETRY_LATER'> {
  static {
    recognise(this, 'RetryLaterError')
  }

  /** As it was given. */
  declare readonly retryAfterMs?: number | Date

  /** @throws CountersignError ERR_OPTION_INVALID if `retryAfterMs` is NaN, an invalid date, or neither a number nor a date */
  constructor(message: string, options: RetryLaterOptions = {}) {
    const { retryAfterMs } = options
    super('ERR_RETRY_LATER', message, options)
    this.name = 'RetryLaterError'
    if (retryAfterMs === undefined) return
    if (Number.isNaN(millisecondsFrom(0, retryAfterMs))) {
      const cure = 'pass milliseconds from now, or a Date'
      throw invalidOption('new RetryLaterError', 'retryAfterMs', retryAfterMs, cure)
    }
    this.retryAfterMs = retryAfterMs
  }
}

/** By its code, as two loaded versions of the package each have a class. */
export function asksForRetry(error: unknown): boolean {
  return property(error, 'code') === 'ERR_RETRY_LATER'
}

/** How long to wait, in whole milliseconds from `now`; undefined if the error does not say so. */
export function askedDelayMs(error: unknown, now: number): number | undefined {
  if (!asksForRetry(error)) return undefined
  const asked = millisecondsFrom(now, property(error, 'retryAfterMs'))
  return Number.isNaN(asked) ? undefined : Math.ceil(Math.min(Math.max(asked, 0), MAX_RETRY_AFTER_MS))
}

/** NaN if the value is neither a number nor a date. */
function millisecondsFrom(now: number, value: unknown): number {
  // The method of the prototype: the date may be of another realm or have a method of its own.
  if (isDate(value)) return Date.prototype.getTime.call(value) - now
  return typeof value === 'number' ? value : NaN
}
