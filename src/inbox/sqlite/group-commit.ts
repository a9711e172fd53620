import { setTimeout as delay } from 'node:timers/promises'
import { commitChannel, type CommitMeasurement } from '../../base/measurements.js'
import { nextTick } from '../../base/next-tick.js'
import type { Logger } from '../../logging/logger.js'
import { CommitQueue, type Operation, type Waiting } from './commit-queue.js'
import { inboxError, isBusy, isFault } from './inbox-error.js'
import { closedError, KeptConnection } from './kept-connection.js'
import { MAX_SYNCS } from './log-sync.js'

interface GroupCommitOptions {
  readonly file: string
  /** How long an operation is tried again while another process has the file locked. */
  readonly busyTimeoutMs: number
  readonly logger: Logger
}

/**
 * Runs operations in common transactions, so that they share one sync of the disk. While a sync runs, the event loop continues, and
 * operations are collected for the next transaction. An arrival does not wait for a sync that began before it: its transaction
 * begins immediately, and the other operations that wait are part of it.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  readonly #kept: KeptConnection
  readonly #queue = new CommitQueue()
  #committing: Promise<void> | undefined
  /** The commits that the disk does not have yet. */
  readonly #unsynced = new Set<Promise<void>>()
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
   * Resolves once the changes of the operation, and what it has read, are durable; without `isDurable` once they are committed. If
   * it rejects, nothing was changed, unless a sync of the disk failed. The operation may be run several times.
   */
  write<Result>(
    operation: Operation<Result>,
    { isArrival = false, isDurable = true, entries = 1 } = {},
  ): Promise<Result> {
    if (this.#closed) return Promise.reject(closedError(this.#options.file))
    return new Promise<Result>((resolve, reject) => {
      const addedAt = performance.now()
      const giveUpAt = addedAt + this.#options.busyTimeoutMs
      this.#queue.add({
        operation,
        entries,
        addedAt,
        isArrival,
        isDurable,
        giveUpAt,
        resolve: resolve as Waiting['resolve'],
        reject,
      })
      this.#commitNext()
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
    while (this.#committing || this.#unsynced.size > 0)
      await Promise.all([this.#committing, ...this.#unsynced])
    await this.#kept.close()
  }

  /** To be called when an operation was added, and when a transaction or a sync has ended. */
  #commitNext(): void {
    if (this.#committing || this.#queue.isEmpty) return
    // If only the worker waits, another transaction would cost processor time and let no sender wait less.
    if (this.#unsynced.size >= (this.#queue.hasArrivals ? MAX_SYNCS : 1)) return
    this.#committing = this.#commitWaiting().finally(() => {
      this.#committing = undefined
      this.#commitNext()
    })
  }

  async #commitWaiting(): Promise<void> {
    await this.#kept.mayChange()
    await nextTick()
    const busy = await this.#commit(this.#queue.take())
    if (busy.length === 0) return
    this.#queue.putBack(busy)
    await pause()
  }

  /** Resolves to the operations to try again, because another process has the file locked. */
  async #commit(batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    try {
      const startedAt = performance.now()
      const { result, durable } = await this.#kept.change(
        (connection) => batch.map(({ operation }) => operation(connection)),
        { isDurable: batch.some(({ isDurable }) => isDurable) },
      )
      for (const [index, { isDurable, resolve }] of batch.entries()) if (!isDurable) resolve(result[index])
      this.#resolveWhen(durable, batch, result, startedAt)
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
      while (this.#unsynced.size >= MAX_SYNCS) await Promise.race(this.#unsynced)
      await this.#kept.mayChange()
      const busy = await this.#commit([waiting])
      if (busy.length > 0) return batch.slice(index)
    }
    return []
  }

  #resolveWhen(
    durable: Promise<void>,
    batch: readonly Waiting[],
    results: readonly unknown[],
    startedAt: number,
  ): void {
    const ended = durable
      .then(
        () => {
          if (commitChannel.hasSubscribers) {
            const durationMs = performance.now() - startedAt
            commitChannel.publish({ size: batch.length, durationMs } satisfies CommitMeasurement)
          }
          batch.forEach(({ resolve }, index) => resolve(results[index]))
        },
        (error: unknown) => {
          const reason = inboxError(error, this.#options.file)
          for (const { reject } of batch) reject(reason)
        },
      )
      .then(() => {
        this.#unsynced.delete(ended)
        this.#commitNext()
      })
    this.#unsynced.add(ended)
  }
}

// With jitter. Without it, two processes that wait for each other would collide again each time.
function pause(): Promise<void> {
  return delay(5 + Math.random() * 20)
}
