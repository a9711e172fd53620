import { CountersignError } from '../base/errors.js'

// Symbols of the registry, because the ES module build and the CommonJS build may both be loaded.

/** True on a handler that relies on a receiver which knows its callbacks also after a restart, and in each of its copies. */
export const NEEDS_SHARED_STORE = Symbol.for('countersign.needsSharedStore')

/** True on the context of a handler if callbacks are remembered only in the memory of this process. */
export const LACKS_SHARED_STORE = Symbol.for('countersign.lacksSharedStore')

export function sharedStoreMissing(where: string): CountersignError {
  return new CountersignError(
    'ERR_HANDLER_INVALID',
    `${where}: the receiver remembers callbacks only in the memory of its process. After a restart, or in another copy, forwardTo could ` +
      'not refuse a captured callback under a new key. Give createReceiver a store that all copies share, such as ' +
      'RedisIdempotencyStore of countersign/redis, or an inbox.',
  )
}
