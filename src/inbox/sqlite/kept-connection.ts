import { CountersignError } from '../../base/errors.js'
import type { Logger } from '../../logging/logger.js'
import { Checkpoints } from './checkpoints.js'
import { Connection } from './connection.js'
import { LOG, refuseDoubtfulDatabase, setDoubt } from './doubt.js'
import { loadDriver, type SqliteDriver } from './driver.js'
import { inboxError, isBusy, isDiskError, needsReopening } from './inbox-error.js'
import { watchLog } from './log-watch.js'
import type { FilesState } from './open-files.js'
import { warnOfOldSqlite } from './sqlite-version.js'

interface Committed<Result> {
  readonly result: Result
  readonly durable: Promise<void>
}

/** Keeps the file of an inbox open, and opens it again after a fault that this may cure. */
export class KeptConnection {
  readonly #file: string
  readonly #logger: Logger
  #driver: SqliteDriver | undefined
  #connection: Connection | undefined
  #checkpoints: Checkpoints | undefined
  #lastFailure: { readonly error: unknown; readonly at: number } | undefined
  #hasWarned = false
  /** The connection whose files were replaced, once that has been logged. */
  #refusedFor: Connection | undefined
  /** The disk has failed. The log may hold commits that are readable and will never be on the disk, whatever later syncs say. */
  #isDoubtful = false
  readonly #watchLog: (connection: Connection) => void
  #isClosed = false

  constructor(file: string, logger: Logger) {
    this.#file = file
    this.#logger = logger
    this.#watchLog = watchLog(file, logger)
  }

  read<Result>(operation: (connection: Connection) => Result): Promise<Result> {
    return this.#use((connection) => {
      connection.checkVersion()
      return operation(connection)
    })
  }

  /** Resolves when the next transaction may begin. */
  async mayChange(): Promise<void> {
    await this.#checkpoints?.mayCommit()
  }

  /**
   * Runs an operation in a transaction. When `durable` resolves, its changes, and what it has read, are on the disk; without
   * `isDurable` they are only committed. If this rejects, nothing was changed. If only `durable` rejects, the changes may be
   * durable or not. To be called when `mayChange` has resolved.
   */
  change<Result>(
    operation: (connection: Connection) => Result,
    { isDurable }: { readonly isDurable: boolean },
  ): Promise<Committed<Result>> {
    return this.#use((connection) => {
      const result = this.#committed(connection, operation)
      // Begun immediately: an operation that comes next may close the connection.
      const durable = isDurable ? this.#synced(connection) : Promise.resolve()
      this.#checkpoints?.committed(connection)
      return { result, durable }
    })
  }

  #committed<Result>(connection: Connection, operation: (connection: Connection) => Result): Result {
    try {
      return connection.transaction(() => operation(connection))
    } catch (error) {
      // Pages of the log may have been written and lost.
      if (isDiskError(error)) this.#diskFailed(error)
      throw error
    }
  }

  async #synced(connection: Connection): Promise<void> {
    try {
      await connection.sync()
    } catch (error) {
      this.#diskFailed(error)
      throw error
    }
    if (this.#connection && !this.#checkpoints?.isRunning) this.#watchLog(this.#connection)
  }

  /** Nothing is committed any more before the file was opened again, which empties its log. */
  #diskFailed(error: unknown): void {
    this.#lastFailure = { error, at: performance.now() }
    this.#isDoubtful = true
    try {
      setDoubt(this.#file, LOG)
    } catch (cause) {
      this.#logger.error(
        { code: 'ERR_INBOX_IO', file: this.#file, err: cause },
        'the doubt about the inbox cannot be marked',
      )
    }
  }

  /** The next operation opens the file, also if that has just failed. */
  forgetFailure(): void {
    this.#lastFailure = undefined
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#checkpoints?.close()
    await this.#drop()
  }

  async #use<Result>(operation: (connection: Connection) => Result): Promise<Result> {
    try {
      for (;;) {
        const connection = await this.#open()
        // An earlier operation of the same tick may have had a fault and closed the file.
        if (connection === this.#connection) return operation(connection)
      }
    } catch (error) {
      await this.#afterFailure(error)
      throw error
    }
  }

  async #open(): Promise<Connection> {
    refuseDoubtfulDatabase(this.#file)
    if (this.#isDoubtful) {
      this.#throwLastFailure()
      await this.#drop()
    }
    const state = this.#connection?.filesState()
    if (state === 'current') return this.#connection!
    // Opening takes long. While it cannot succeed, callbacks must not cause an attempt each.
    this.#throwLastFailure()
    if (state !== undefined) {
      if (this.#checkpoints?.isRunning) {
        await this.#checkpoints.idle()
        return this.#open()
      }
      this.#letGo(this.#connection!, WHAT_HAPPENED[state])
    }
    this.#driver ??= await loadDriver()
    if (this.#isClosed) throw closedError(this.#file)
    // Another call may have opened it meanwhile.
    this.#connection ??= this.#opened(this.#driver)
    this.#lastFailure = undefined
    return this.#connection
  }

  #opened(driver: SqliteDriver): Connection {
    const connection = new Connection(driver, this.#file, { mustEmptyLog: this.#isDoubtful })
    this.#isDoubtful = false
    this.#checkpoints ??= new Checkpoints(driver, this.#file, (error) => this.#notCopied(error))
    if (!this.#hasWarned) warnOfOldSqlite(connection.sqliteVersion, this.#logger)
    this.#hasWarned = true
    return connection
  }

  #notCopied(error: unknown): void {
    const failure = this.#failureOf(error)
    this.#logger.error({ code: failure.code, file: this.#file, err: failure }, NOT_COPIED)
    this.#diskFailed(failure)
  }

  #failureOf(error: unknown): CountersignError {
    try {
      refuseDoubtfulDatabase(this.#file)
    } catch (doubt) {
      return Object.assign(doubt as CountersignError, { cause: error })
    }
    const known = inboxError(error, this.#file)
    if (known instanceof CountersignError) return known
    return new CountersignError('ERR_INBOX_IO', `${this.#file}: ${NOT_COPIED}`, { cause: error })
  }

  #throwLastFailure(): void {
    if (this.#lastFailure && performance.now() - this.#lastFailure.at < TRY_AGAIN_AFTER_MS)
      throw this.#lastFailure.error
  }

  #letGo(connection: Connection, what: string): void {
    const file = this.#file
    if (connection.close()) {
      const message = `${what} while it was open: it is opened anew, unless others still hold it`
      this.#logger.error({ code: 'ERR_INBOX_REPLACED', file }, message)
      this.#connection = undefined
      return
    }
    const message =
      `${what} while it was open, and another program may be writing: nothing is written any more. Stop ` +
      'every process that uses the file, see that it is sound (PRAGMA integrity_check), and then start them again'
    const error = new CountersignError('ERR_INBOX_REPLACED', `${file}: ${message}`)
    if (this.#refusedFor !== connection) this.#logger.error({ code: error.code, file }, message)
    this.#refusedFor = connection
    this.#lastFailure = { error, at: performance.now() }
    throw error
  }

  async #afterFailure(error: unknown): Promise<void> {
    if (error === this.#lastFailure?.error) return
    if (this.#connection && needsReopening(error)) await this.#drop()
    if (!this.#connection && !isBusy(error)) this.#lastFailure = { error, at: performance.now() }
  }

  async #drop(): Promise<void> {
    const connection = this.#connection
    await this.#checkpoints?.idle()
    if (connection !== this.#connection) return
    try {
      // A connection that may not be closed is kept, and refused again: a second one would share the index of its log.
      if (connection?.close() === false) return
    } catch (error) {
      const fields = { file: this.#file, err: error }
      this.#logger.warn(fields, 'the file of the inbox could not be closed properly')
    }
    this.#connection = undefined
  }
}

export function closedError(file: string): CountersignError {
  return new CountersignError('ERR_CLOSED', `the inbox ${file} is closed`)
}

const TRY_AGAIN_AFTER_MS = 1_000
const NOT_COPIED =
  'the log of the inbox could not be copied into its file: callbacks are refused until that is made good'

const WHAT_HAPPENED: Readonly<Record<Exclude<FilesState, 'current'>, string>> = {
  moved: 'the file of the inbox was deleted or replaced',
  lost: 'the -wal or -shm beside the inbox was deleted or replaced',
  replaced: 'the -wal or -shm beside the inbox was deleted or replaced',
  cut: 'the -wal beside the inbox was shortened',
}
