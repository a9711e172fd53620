import { timer } from '../../base/timeout.js'
import { busyError } from './inbox-error.js'
import type { PostgresInboxSettings } from './options.js'

type LimitSettings = Pick<
  PostgresInboxSettings,
  'maxTransactions' | 'schema' | 'busyTimeoutMs' | 'environment'
>

/**
 * Limits how many transactions there are at the same time, so that they do not take every connection of the pool. Returns a function
 * that runs a transaction, or waits until one ends.
 */
export function limitTransactions({
  maxTransactions = Infinity,
  schema,
  busyTimeoutMs,
  environment,
}: LimitSettings) {
  let free = maxTransactions
  const waiting = new Set<() => void>()

  /** @throws CountersignError ERR_INBOX_BUSY when none ends within `busyTimeoutMs`; and what `work` throws */
  return async function withinLimit<Result>(work: () => Promise<Result>): Promise<Result> {
    if (free > 0) free--
    else await place()
    try {
      return await work()
    } finally {
      leave()
    }
  }

  function place(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        cancel()
        resolve()
      }
      const cancel = timer(
        busyTimeoutMs,
        () => {
          waiting.delete(enter)
          const why = `${busyTimeoutMs} ms for one of the connections that the pool has for transactional handlers`
          reject(busyError(schema, why))
        },
        { environment },
      )
      waiting.add(enter)
    })
  }

  /** Gives the place to the one that has waited longest. */
  function leave(): void {
    const [next] = waiting
    if (!next) return void free++
    waiting.delete(next)
    next()
  }
}
