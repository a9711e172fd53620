import { CountersignError } from '../base/errors.js'
import { property } from '../base/foreign-value.js'

/** Thrown by a handler to say that trying again is of no use: the entry becomes a dead letter at once. */
export class DoNotRetryError extends CountersignError<'ERR_DO_NOT_RETRY'> {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_DO_NOT_RETRY', message, options)
    this.name = 'DoNotRetryError'
  }
}

/** By its code, as there may be two copies of the class: one of the ES module build and one of the CommonJS build. */
export function forbidsRetry(error: unknown): boolean {
  return property(error, 'code') === 'ERR_DO_NOT_RETRY'
}
