import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises'
import { commitChannel, type CommitMeasurement } from '../../base/measurements.js'
import type { Logger } from '../../logging/logger.js'
import type { Connection } from './connection.js'
import { inboxError, isBusy, isFault } from './inbox-error.js'
import { closedError, KeptConnection } from './kept-connection.js'

interface GroupCommitOptions {
  readonly file: string
  /** How long an operation is tried again while another process has the file locked. */
  readonly busyTimeoutMs: number
  readonly logger: Logger
}

type Operation<Result> = (connection: Connection) => Result

interface Waiting {
  readonly operation: Operation<unknown>
  readonly giveUpAt: number
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs operations in common transactions, so that they share one sync of the disk. While a sync runs, the event loop goes on, and
 * the operations that arrive are collected for the next transaction.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  readonly #kept: KeptConnection
  readonly #waiting: Waiting[] = []
  #draining: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#kept = new KeptConnection(options.file, options.logger)
  }

  async open(): Promise<void> {
    this.#kept.forgetFailure()
    await this.read(() => {})
  }

  /**
   * Resolves once the changes of the operation, and what it has read, are durable. If it rejects, nothing was changed, unless a
   * sync of the disk failed. The operation may be run several times.
   */
  write<Result>(operation: Operation<Result>): Promise<Result> {
    if (this.#closed) return Promise.reject(closedError(this.#options.file))
    return new Promise<Result>((resolve, reject) => {
      const giveUpAt = performance.now() + this.#options.busyTimeoutMs
      this.#waiting.push({ operation, giveUpAt, resolve: resolve as Waiting['resolve'], reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Runs an operation that only reads. It sees what has been committed, also what is not durable yet. */
  async read<Result>(operation: Operation<Result>): Promise<Result> {
    const giveUpAt = performance.now() + this.#options.busyTimeoutMs
    for (;;) {
      if (this.#closed) throw closedError(this.#options.file)
      try {
        return await this.#kept.read(operation)
      } catch (error) {
        if (!isBusy(error) || performance.now() >= giveUpAt) throw inboxError(error, this.#options.file)
      }
      await pause()
    }
  }

  /** Runs the operations that wait, and closes the file. Safe to call twice. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.#draining
    await this.#kept.close()
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTick()
      const busy = await this.#commit(this.#waiting.splice(0, MAX_BATCH))
      if (busy.length === 0) continue
      this.#waiting.unshift(...busy)
      await pause()
    }
    this.#draining = undefined
  }

  /** Resolves to the operations to try again, because another process has the file locked. */
  async #commit(batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    try {
      const startedAt = performance.now()
      const results = await this.#kept.change((connection) =>
        batch.map(({ operation }) => operation(connection)),
      )
      if (commitChannel.hasSubscribers) {
        const durationMs = performance.now() - startedAt
        commitChannel.publish({ size: batch.length, durationMs } satisfies CommitMeasurement)
      }
      batch.forEach(({ resolve }, index) => resolve(results[index]))
      return []
    } catch (error) {
      const now = performance.now()
      const again = isBusy(error) ? batch.filter(({ giveUpAt }) => now < giveUpAt) : []
      if (isFault(error) || batch.length === 1) {
        const reason = inboxError(error, this.#options.file)
        for (const waiting of batch) if (!again.includes(waiting)) waiting.reject(reason)
        return again
      }
    }
    // One operation failed. The others of the batch must not fail with it.
    for (const [index, waiting] of batch.entries()) {
      const busy = await this.#commit([waiting])
      if (busy.length > 0) return batch.slice(index)
    }
    return []
  }
}

/** How many operations share a transaction at most: a batch blocks the event loop. */
const MAX_BATCH = 256

// With jitter. Without it, two processes that wait for each other would collide again each time.
function pause(): Promise<void> {
  return delay(5 + Math.random() * 20)
}
