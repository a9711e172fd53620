import { CountersignError, recognise } from '../base/errors.js'
import { property } from '../base/foreign-value.js'
import { saysKeyReused } from './key-reused.js'

/** Thrown by a handler to end the retries: the entry becomes a dead letter immediately. */
export class DoNotRetryError extends CountersignError<'ERR_DO_NOT_RETRY'> {
  static {
    recognise(this, 'DoNotRetryError')
  }

  constructor(message: string, options?: { cause?: unknown }) {
    super('ERR_DO_NOT_RETRY', message, options)
    this.name = 'DoNotRetryError'
  }
}

/** Recognised by its code, because two loaded versions of the package each have a class. */
export function forbidsRetry(error: unknown): boolean {
  return property(error, 'code') === 'ERR_DO_NOT_RETRY' || saysKeyReused(error)
}
