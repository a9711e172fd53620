import { CountersignError } from '../../base/errors.js'
import { delay, every, type Environment } from '../../base/environment.js'
import type { Logger } from '../../logging/logger.js'
import type { AddResult } from '../engine.js'
import { add } from './add.js'
import { Checkpoints } from './checkpoints.js'
import { Connection } from './connection.js'
import { loadDriver, type SqliteDriver } from './driver.js'
import { enter, type Entrance } from './entrance.js'
import { inboxError, isBusy, isFault, isFull, needsReopening, putsInDoubt } from './inbox-error.js'
import { watchLog } from './log-watch.js'
import { lookFirst } from './look-first.js'
import { doubtOf } from './marks.js'
import { ensureFile } from './open-database.js'
import type { FilesState } from './open-files.js'
import {
  READS,
  WRITES,
  type ArrivalToStore,
  type ReadArguments,
  type Reads,
  type Write,
} from './operations.js'
import { warnOfOldSqlite } from './sqlite-version.js'
import { refuseDoubt } from './write-lock.js'

/** Writes that share a transaction. */
export interface Batch {
  /** The time of the inbox. */
  readonly now: number
  readonly arrivals: readonly ArrivalToStore[]
  readonly writes: readonly Write[]
}

/** What became of one write. */
export type Written<Result = unknown> = { readonly result: Result } | { readonly error: unknown }

export interface WrittenBatch {
  /** In the order of the arrivals. */
  readonly added: readonly Written<AddResult>[]
  /** In the order of the other writes. */
  readonly written: readonly Written[]
}

export interface StoreSettings {
  readonly file: string
  /** How long a read is tried again while another process has the file locked, in milliseconds. */
  readonly busyTimeoutMs: number
}

/** Whoever has a file of an inbox open, in this thread or in another one. */
export interface StoreHost {
  /** Opens the file, also if that has just failed. */
  open(): Promise<void>
  /** Carries out all of these writes in one transaction. If one of them fails, each has a transaction of its own. */
  write(batch: Batch): Promise<WrittenBatch>
  read<Name extends keyof Reads>(
    name: Name,
    ...given: ReadArguments<Name>
  ): Promise<Awaited<ReturnType<Reads[Name]>>>
  /** To be called once, when nothing is being written. */
  close(): Promise<void>
}

/**
 * The file of an inbox: keeps it open, writes and reads, copies its log into its database, and opens it again after a fault that this
 * may cure. Its steps are synchronous and wait for the disk, so it has a thread of its own where that is possible.
 */
export class Store implements StoreHost {
  readonly #settings: StoreSettings
  readonly #logger: Logger
  readonly #environment: Environment
  readonly #watchLog: (connection: Connection) => void
  #driver: SqliteDriver | undefined
  #open: OpenFile | undefined
  #opening: Promise<OpenFile> | undefined
  #lastFailure: { readonly error: unknown; readonly at: number } | undefined
  #hasWarned = false
  /** The connection whose files were replaced, once that has been logged. */
  #refusedFor: OpenFile | undefined
  #isClosed = false

  constructor(settings: StoreSettings, logger: Logger, environment: Environment, driver?: SqliteDriver) {
    this.#settings = settings
    this.#driver = driver
    this.#logger = logger
    this.#environment = environment
    this.#watchLog = watchLog(settings.file, logger)
  }

  async write({ now, arrivals, writes }: Batch): Promise<WrittenBatch> {
    const steps = [
      ...arrivals.map((arrival) => (db: Connection) => add(db, arrival, now)),
      ...writes.map((write) => (db: Connection) => carryOut(db, now, write)),
    ]
    const results = await this.#written(steps)
    return {
      added: results.slice(0, arrivals.length) as Written<AddResult>[],
      written: results.slice(arrivals.length),
    }
  }

  async read<Name extends keyof Reads>(
    name: Name,
    ...given: ReadArguments<Name>
  ): Promise<Awaited<ReturnType<Reads[Name]>>> {
    const read = READS[name] as (...all: unknown[]) => ReturnType<Reads[Name]>
    return await read((step: (db: Connection) => unknown) => this.#readStep(step), ...given)
  }

  async open(): Promise<void> {
    let giveUpAt: number | undefined
    for (;;) {
      this.#lastFailure = undefined
      try {
        return await this.read('nothing')
      } catch (error) {
        // The other processes let go of the file within a second, and one of all copies it.
        giveUpAt ??= this.#environment.monotonic() + REPAIR_LIMIT_MS
        if (doubtOf(this.#settings.file).value === 0 || this.#environment.monotonic() > giveUpAt) throw error
      }
      await delay(this.#environment, OPEN_AGAIN_MS)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#opening?.catch(() => {})
    // Who opens the inbox next would otherwise copy the files first.
    for (let tries = 0; tries < COMPLETE_TRIES && this.#open?.connection.mayClose; tries++) {
      this.#look()
      if (!this.#open?.entrance.lock.databaseLacks) break
      await delay(this.#environment, COMPLETE_AGAIN_MS)
    }
    this.#drop()
  }

  async #written(steps: readonly ((db: Connection) => unknown)[]): Promise<readonly Written[]> {
    try {
      const results = await this.#use(({ connection }) =>
        connection.transaction(() => steps.map((step) => step(connection))),
      )
      this.#checkpointSoon()
      return results.map((result) => ({ result }))
    } catch (error) {
      if (isFault(error) || steps.length === 1) {
        const reason = inboxError(error, this.#settings.file)
        return steps.map(() => ({ error: reason }))
      }
    }
    const each: Written[] = []
    for (const step of steps) each.push(...(await this.#written([step])))
    return each
  }

  async #readStep<Result>(step: (db: Connection) => Result): Promise<Result> {
    const giveUpAt = this.#environment.monotonic() + this.#settings.busyTimeoutMs
    for (;;) {
      try {
        return await this.#use(({ connection }) => {
          connection.checkVersion()
          return step(connection)
        })
      } catch (error) {
        if (!isBusy(error) || this.#environment.monotonic() >= giveUpAt)
          throw inboxError(error, this.#settings.file)
      }
      await delay(this.#environment, READ_AGAIN_MS)
    }
  }

  async #use<Result>(operation: (open: OpenFile) => Result): Promise<Result> {
    try {
      for (;;) {
        const open = await this.#opened()
        // An operation that came before may have had a fault and closed the file.
        if (open === this.#open) return operation(open)
      }
    } catch (error) {
      this.#afterFailure(error)
      throw error
    }
  }

  async #opened(): Promise<OpenFile> {
    if (this.#open) {
      const state = this.#open.connection.filesState()
      if (state === 'current') return this.#open
      this.#throwLastFailure()
      this.#letGo(this.#open, WHAT_HAPPENED[state])
    }
    // Opening takes long. While it cannot succeed, callbacks must not cause an attempt each.
    this.#throwLastFailure()
    return (this.#opening ??= this.#openFile().finally(() => (this.#opening = undefined)))
  }

  async #openFile(): Promise<OpenFile> {
    const { file } = this.#settings
    const driver = (this.#driver ??= await loadDriver())
    ensureFile(file)
    // What is in doubt is ours, and may be unreadable before it was copied.
    if (doubtOf(file).value === 0) lookFirst(driver, file)
    const repaired = () =>
      this.#logger.warn({ file }, 'the inbox was copied to other blocks of the disk, and is in use again')
    const entrance = enter(driver, file, repaired)
    try {
      return (this.#open = this.#openWithin(driver, entrance))
    } catch (error) {
      entrance.leave()
      throw error
    }
  }

  #openWithin(driver: SqliteDriver, entrance: Entrance): OpenFile {
    const { lock } = entrance
    const connection = lock.open(() => new Connection(driver, this.#settings.file, lock))
    try {
      if (this.#isClosed) throw closedError(this.#settings.file)
      const checkpoints = new Checkpoints(connection, lock)
      // A file whose log is lost is then still an inbox.
      if (connection.isNew) checkpoints.last()
      if (!this.#hasWarned) warnOfOldSqlite(connection.sqliteVersion, this.#logger)
      this.#hasWarned = true
      this.#lastFailure = undefined
      const looks = every(this.#environment, LOOK_EVERY_MS, () => this.#look(), { keepsAlive: false })
      return { connection, checkpoints, entrance, looks }
    } catch (error) {
      connection.closeUncopied()
      throw error
    }
  }

  /** Not before the answers to what was committed are on their way. */
  #checkpointSoon(): void {
    this.#environment.setImmediate(() =>
      this.#checkpoint(({ checkpoints, connection }) => {
        checkpoints.afterCommit()
        // What is left now is kept by a reader.
        this.#watchLog(connection)
      }),
    )
  }

  /** Who copies the files waits until every process has let go of them, also one that has nothing to write. */
  #look(): void {
    this.#checkpoint(({ checkpoints }) => {
      refuseDoubt(this.#settings.file)
      checkpoints.complete()
    })
  }

  #checkpoint(run: (open: OpenFile) => void): void {
    if (!this.#open) return
    try {
      run(this.#open)
    } catch (error) {
      // It stays marked, and is tried again.
      if (!isBusy(error) && !isFull(error)) this.#afterFailure(error)
    }
  }

  #afterFailure(error: unknown): void {
    if (error === this.#lastFailure?.error) return
    if (putsInDoubt(error)) this.#doubt(error)
    if (this.#open && (putsInDoubt(error) || needsReopening(error))) this.#drop()
    if (!this.#open && !isBusy(error)) this.#lastFailure = { error, at: this.#environment.monotonic() }
  }

  #doubt(error: unknown): void {
    const { file } = this.#settings
    const fields = { code: 'ERR_INBOX_IO', file, err: inboxError(error, file) }
    this.#logger.error(
      fields,
      'a write or a sync of the disk failed: callbacks are answered 503 until the files of the inbox were copied to other ' +
        'blocks of the disk, which is tried each second',
    )
    try {
      doubtOf(file).set(1)
    } catch (cause) {
      this.#logger.error({ ...fields, err: cause }, 'the doubt about the inbox could not be marked')
    }
  }

  #throwLastFailure(): void {
    if (this.#lastFailure && this.#environment.monotonic() - this.#lastFailure.at < TRY_AGAIN_AFTER_MS)
      throw this.#lastFailure.error
  }

  /** Closes a file that was replaced, unless another program may be writing to it. */
  #letGo(open: OpenFile, what: string): void {
    const { file } = this.#settings
    if (open.connection.mayClose) {
      const message = `${what} while it was open: it is opened anew, unless others still hold it`
      this.#logger.error({ code: 'ERR_INBOX_REPLACED', file }, message)
      this.#close(open)
      return
    }
    const message =
      `${what} while it was open, and another program may be writing: nothing is written any more. Stop ` +
      'every process that uses the file, see that it is sound (PRAGMA integrity_check), and then start them again'
    const error = new CountersignError('ERR_INBOX_REPLACED', `${file}: ${message}`)
    if (this.#refusedFor !== open) this.#logger.error({ code: error.code, file }, message)
    this.#refusedFor = open
    this.#lastFailure = { error, at: this.#environment.monotonic() }
    throw error
  }

  /** Closes the file. */
  #drop(): void {
    const open = this.#open
    // A connection that may not be closed is kept, and refused again: a second one would share the index of its log.
    if (open?.connection.mayClose) this.#close(open)
  }

  #close({ connection, checkpoints, entrance, looks }: OpenFile): void {
    looks()
    this.#open = undefined
    let isClosed = false
    const close = () => {
      isClosed = true
      connection.close()
    }
    try {
      if (connection.filesState() === 'moved') close()
      else if (doubtOf(this.#settings.file).value === 0) checkpoints.last(close)
    } catch (error) {
      // Others have the file open, and copy its log later.
      if (isBusy(error)) return
      const fields = { file: this.#settings.file, err: error }
      this.#logger.warn(fields, 'the file of the inbox could not be closed properly')
      if (putsInDoubt(error)) this.#doubt(error)
    } finally {
      if (!isClosed) connection.closeUncopied()
      entrance.leave()
    }
  }
}

export function closedError(file: string): CountersignError {
  return new CountersignError('ERR_CLOSED', `the inbox ${file} is closed`)
}

interface OpenFile {
  readonly connection: Connection
  readonly checkpoints: Checkpoints
  readonly entrance: Entrance
  /** Ends the looks at what others have marked. */
  readonly looks: () => void
}

function carryOut(db: Connection, now: number, [name, ...given]: Write): unknown {
  const write = WRITES[name] as (db: Connection, now: number, ...all: unknown[]) => unknown
  return write(db, now, ...given)
}

const TRY_AGAIN_AFTER_MS = 1_000
const LOOK_EVERY_MS = 1_000
const READ_AGAIN_MS = 10
/** How long the start of a process waits until files that are in doubt were copied, in milliseconds. */
const REPAIR_LIMIT_MS = 5_000
const OPEN_AGAIN_MS = 100
const COMPLETE_TRIES = 50
const COMPLETE_AGAIN_MS = 20

const WHAT_HAPPENED: Readonly<Record<Exclude<FilesState, 'current'>, string>> = {
  moved: 'the file of the inbox was deleted or replaced',
  lost: 'the -wal or -shm beside the inbox was deleted or replaced',
  replaced: 'the -wal or -shm beside the inbox was deleted or replaced',
  cut: 'the -wal beside the inbox was shortened',
}
