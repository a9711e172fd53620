import type { Logger } from '../logging/logger.js'
import type { WorkerParts } from './worker-parts.js'

type ConcurrencyParts = Pick<WorkerParts, 'concurrency' | 'handlers' | 'inbox'>

/** How many entries are handled at a time: with a transactional handler not more than the inbox has transactions for. */
export function usableConcurrency({ concurrency, handlers, inbox }: ConcurrencyParts): number {
  if (!handlers.haveTransactional) return concurrency
  return Math.min(concurrency, inbox.maxTransactions ?? concurrency)
}

export function warnOfConcurrency(parts: ConcurrencyParts & { readonly logger: Logger }): void {
  const { concurrency, logger } = parts
  const usable = usableConcurrency(parts)
  if (usable === concurrency) return
  const message =
    `concurrency is ${concurrency}, but at most ${usable} entries are handled at a time: a handler is transactional, and ` +
    `the inbox has connections for ${usable} transactions. Raise maxConnections, or max of your pool, by ${concurrency - usable}, ` +
    'or lower concurrency'
  logger.warn({ code: 'WARN_CONCURRENCY_LIMITED', concurrency, maxTransactions: usable }, message)
}
