import { CountersignError, recognise } from '../base/errors.js'
import { property } from '../base/foreign-value.js'

/**
 * Thrown by a handler when a dependency, such as a queue or a database, cannot be reached. Without an inbox the
 * sender is answered 503 with `Retry-After`, instead of the 500 of a handler that failed. With an inbox the entry is retried
 * like after any other failure.
 */
export class RetryLaterError extends CountersignError<'ERR_RETRY_LATER'> {
  static {
    recognise(this, 'RetryLaterError')
  }

  constructor(message: string, options?: { cause?: unknown }) {
    super('ERR_RETRY_LATER', message, options)
    this.name = 'RetryLaterError'
  }
}

/** By its code, as two loaded versions of the package each have a class. */
export function asksForRetry(error: unknown): boolean {
  return property(error, 'code') === 'ERR_RETRY_LATER'
}
