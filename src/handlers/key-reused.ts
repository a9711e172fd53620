import { CountersignError } from '../base/errors.js'
import { property } from '../base/foreign-value.js'

/** Thrown by a handler that knows the callback's key with another body. It is answered like a conflict in the store: 409. */
export class KeyReusedError extends CountersignError<'ERR_IDEMPOTENCY_KEY_REUSED'> {
  constructor(message: string) {
    super('ERR_IDEMPOTENCY_KEY_REUSED', message)
  }
}

/** Recognised by its code, because the ES module build and the CommonJS build each have a class. */
export function saysKeyReused(error: unknown): boolean {
  return property(error, 'code') === 'ERR_IDEMPOTENCY_KEY_REUSED'
}
