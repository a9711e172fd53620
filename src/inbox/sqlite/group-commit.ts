import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises'
import { CountersignError } from '../../base/errors.js'
import { commitChannel, type CommitMeasurement } from '../../base/measurements.js'
import type { Logger } from '../../logging/logger.js'
import { Connection } from './connection.js'
import { loadDriver, type SqliteDriver } from './driver.js'
import { inboxError, isBusy, isFault, needsReopening } from './inbox-error.js'
import { watchLog } from './log-watch.js'
import type { FilesState } from './open-files.js'

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
 * Runs the operations of one event loop tick in one transaction, so that they share one sync of the disk. Keeps the file open,
 * and opens it again after a fault that this may cure.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  readonly #waiting: Waiting[] = []
  #draining: Promise<void> | undefined
  #driver: SqliteDriver | undefined
  #connection: Connection | undefined
  #lastFailure: { readonly error: unknown; readonly at: number } | undefined
  #hasWarned = false
  /** The connection whose files were replaced, once that has been logged. */
  #refusedFor: Connection | undefined
  readonly #watchLog: (connection: Connection) => void
  #closed: Promise<void> | undefined
  #isClosed = false

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#watchLog = watchLog(options.file, options.logger)
  }

  async open(): Promise<void> {
    this.#lastFailure = undefined
    await this.read(() => {})
  }

  /** Resolves once the changes of the operation are durable. If it rejects, nothing was changed. It may be run several times. */
  write<Result>(operation: Operation<Result>): Promise<Result> {
    if (this.#closed) return Promise.reject(closedError(this.#options.file))
    return new Promise<Result>((resolve, reject) => {
      const giveUpAt = performance.now() + this.#options.busyTimeoutMs
      this.#waiting.push({ operation, giveUpAt, resolve: resolve as Waiting['resolve'], reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Runs an operation that only reads. It sees what has been committed. */
  async read<Result>(operation: Operation<Result>): Promise<Result> {
    const giveUpAt = performance.now() + this.#options.busyTimeoutMs
    for (;;) {
      if (this.#closed) throw closedError(this.#options.file)
      try {
        return await this.#use((connection) => {
          connection.checkVersion()
          return operation(connection)
        })
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
    this.#isClosed = true
    this.#drop()
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
      const results = await this.#use((connection) =>
        connection.transaction(() => batch.map(({ operation }) => operation(connection))),
      )
      if (commitChannel.hasSubscribers) {
        const durationMs = performance.now() - startedAt
        commitChannel.publish({ size: batch.length, durationMs } satisfies CommitMeasurement)
      }
      batch.forEach(({ resolve }, index) => resolve(results[index]))
      if (this.#connection) this.#watchLog(this.#connection)
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

  async #use<Result>(operation: Operation<Result>): Promise<Result> {
    try {
      for (;;) {
        const connection = await this.#open()
        // An earlier operation of the same tick may have had a fault and closed the file.
        if (connection === this.#connection) return operation(connection)
      }
    } catch (error) {
      this.#afterFailure(error)
      throw error
    }
  }

  async #open(): Promise<Connection> {
    const { file } = this.#options
    const state = this.#connection?.filesState()
    if (this.#connection && state === 'current') return this.#connection
    // Opening takes long. While it cannot succeed, callbacks must not cause an attempt each.
    if (this.#lastFailure && performance.now() - this.#lastFailure.at < REOPEN_AFTER_MS)
      throw this.#lastFailure.error
    if (this.#connection) this.#letGo(this.#connection, state)
    this.#driver ??= await loadDriver()
    if (this.#isClosed) throw closedError(file)
    // Another call may have opened it meanwhile.
    this.#connection ??= new Connection(this.#driver, file)
    this.#lastFailure = undefined
    this.#warnOfOldSqlite(this.#connection.sqliteVersion)
    return this.#connection
  }

  #letGo(connection: Connection, state: FilesState | undefined): void {
    const { file, logger } = this.#options
    const what = state === 'moved' ? 'the file of the inbox' : 'the -wal or -shm beside the inbox'
    if (connection.close()) {
      const message = `${what} was deleted or replaced while it was open: it is opened anew, unless others still hold it`
      logger.error({ code: 'ERR_INBOX_REPLACED', file }, message)
      this.#connection = undefined
      return
    }
    const message =
      `${what} was replaced while it was open, and another program may be writing: nothing is written any more. Stop ` +
      'every process that uses the file, see that it is sound (PRAGMA integrity_check), and then start them again'
    const error = new CountersignError('ERR_INBOX_REPLACED', `${file}: ${message}`)
    if (this.#refusedFor !== connection) logger.error({ code: error.code, file }, message)
    this.#refusedFor = connection
    this.#lastFailure = { error, at: performance.now() }
    throw error
  }

  #afterFailure(error: unknown): void {
    if (this.#connection && needsReopening(error)) this.#drop()
    if (!this.#connection && !isBusy(error) && this.#lastFailure?.error !== error)
      this.#lastFailure = { error, at: performance.now() }
  }

  #drop(): void {
    const connection = this.#connection
    try {
      // A connection that may not be closed is kept, and refused again: a second one would share the index of its log.
      if (connection?.close() === false) return
    } catch (error) {
      const fields = { file: this.#options.file, err: error }
      this.#options.logger.warn(fields, 'the file of the inbox could not be closed properly')
    }
    this.#connection = undefined
  }

  #warnOfOldSqlite(version: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    if (!isOlder(version, SAFE_SQLITE)) return
    const message =
      `SQLite before ${SAFE_SQLITE.join('.')} may damage a file that several processes write: update Node, or let one ` +
      'process alone use the inbox'
    this.#options.logger.warn({ code: 'WARN_SQLITE_OLD', version }, message)
  }
}

/** How many operations share a transaction at most: a batch blocks the event loop. */
const MAX_BATCH = 256
const REOPEN_AFTER_MS = 1_000

/** The first version without the race when a WAL is reset (https://sqlite.org/wal.html#walresetbug). */
const SAFE_SQLITE = [3, 51, 3]

function isOlder(version: string, than: readonly number[]): boolean {
  const parts = version.split('.').map(Number)
  const differing = than.findIndex((part, index) => part !== parts[index])
  return differing >= 0 && parts[differing]! < than[differing]!
}

// With jitter. Without it, two processes that wait for each other would collide again each time.
function pause(): Promise<void> {
  return delay(5 + Math.random() * 20)
}

function closedError(file: string): CountersignError {
  return new CountersignError('ERR_INBOX_CLOSED', `the inbox ${file} is closed`)
}
