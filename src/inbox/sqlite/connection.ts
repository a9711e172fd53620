import { CountersignError } from '../../base/errors.js'
import type { SqliteDatabase, SqliteDriver, SqliteStatement } from './driver.js'
import { isBusy } from './inbox-error.js'
import { LogSync, maySyncFiles } from './log-sync.js'
import { openDatabase } from './open-database.js'
import { bytesIn, OpenFiles, type FilesState } from './open-files.js'
import { checkedVersion, SCHEMA_VERSION } from './schema.js'
import { isSafeSqlite } from './sqlite-version.js'

/** An open file. Its methods are synchronous, except `sync`. */
export class Connection {
  readonly #database: SqliteDatabase
  readonly #file: string
  readonly #files: OpenFiles
  /** Undefined if SQLite syncs at each commit. */
  readonly #log: LogSync | undefined
  /** How many rows had been changed by this connection when the latest sync began, and how that sync ends. */
  #latestSync = { changes: 0, ended: Promise.resolve() }
  #isLogCut = false
  readonly #pageBytes: number
  /** The least length of the -wal file in bytes, computed from the latest known number of its pages. */
  #leastLogBytes = 0
  readonly #statements = new Map<string, SqliteStatement>()
  readonly sqliteVersion: string

  /** Throws what SQLite or the file system throws, or CountersignError ERR_INBOX_NEWER, ERR_INBOX_CORRUPT, ERR_INBOX_REPLACED. */
  constructor(driver: SqliteDriver, file: string) {
    this.#file = file
    this.#database = openDatabase(driver, file)
    let log: LogSync | undefined
    try {
      if (maySyncFiles()) this.#log = log = new LogSync(file)
      else this.#database.exec('PRAGMA synchronous = FULL')
      this.#files = new OpenFiles(file)
      this.#pageBytes = this.get<{ page_size: number }>('PRAGMA page_size')!.page_size
      this.#emptyFoundLog()
      this.sqliteVersion = this.get<{ version: string }>('SELECT sqlite_version() AS version')!.version
    } catch (error) {
      log?.close()
      this.#database.close()
      throw error
    }
  }

  /** Whether the files are still those that were opened. What is committed to a deleted file may be lost. */
  filesState(): FilesState {
    const before = Math.max(this.#files.logBytes, this.#leastLogBytes)
    const state = this.#files.state()
    if (state !== 'current') return state
    // The next commit would hide it, and the next checkpoint would copy what is missing as zeros into the database. If the log was
    // empty at the last look, its size says nothing, because the first commit came later.
    if ((this.#files.logBytes < before || before === 0) && isSafeSqlite(this.sqliteVersion))
      this.#isLogCut ||= this.#lacksFrames()
    return this.#isLogCut ? 'cut' : 'current'
  }

  /**
   * Throws if another process has changed the schema since: this version could lose data that it does not know.
   * @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_REPLACED
   */
  checkVersion(): void {
    const { user_version: version } = this.get<{ user_version: number }>('PRAGMA user_version')!
    if (version === SCHEMA_VERSION) return
    checkedVersion(this.#database, this.#file)
    const message = `${this.#file} was replaced by a file of an older version while it was open. It is opened anew`
    throw new CountersignError('ERR_INBOX_REPLACED', message)
  }

  /**
   * Resolves once everything that has been committed, also by other processes, is on the disk. Begins no other sync if this
   * connection has changed nothing since the last time. At most `MAX_SYNCS` may not have settled.
   */
  sync(): Promise<void> {
    const { changes } = this.get<{ changes: number }>('SELECT total_changes() AS changes')!
    if (this.#log && changes !== this.#latestSync.changes)
      this.#latestSync = { changes, ended: this.#log.sync() }
    return this.#latestSync.ended
  }

  /**
   * Copies the whole log into the database, waits until the disk has both, and lets the log begin anew. Throws an error with
   * the code of SQLite for a locked file while another process reads or writes.
   */
  emptyLog(): void {
    const { busy } = this.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')!
    if (busy !== 0) throw Object.assign(new Error('another process uses the log'), { errcode: 5 })
    this.#log?.syncNow()
    this.#latestSync.ended = Promise.resolve()
  }

  /** How many pages the log holds. */
  logFrames(): number {
    const { log } = this.get<{ log: number }>('PRAGMA wal_checkpoint(NOOP)')!
    this.#leastLogBytes = log === 0 ? 0 : LOG_HEADER_BYTES + log * (this.#pageBytes + FRAME_HEADER_BYTES)
    return log
  }

  /** From now on SQLite copies the log in a commit when it holds that many pages. */
  checkpointAt(frames: number): void {
    this.#database.exec(`PRAGMA wal_autocheckpoint = ${frames}`)
  }

  /** The size of the log, and how much of it cannot be copied into the database now, in bytes. */
  checkpoint(): { logBytes: number; heldBytes: number } {
    const { logBytes } = this.#files
    const { log, checkpointed } = this.get<{ log: number; checkpointed: number }>(
      'PRAGMA wal_checkpoint(PASSIVE)',
    )!
    return { logBytes, heldBytes: Math.max(0, log - checkpointed) * this.#pageBytes }
  }

  /** The size of the -wal file when the files were checked last, in bytes. */
  get logBytes(): number {
    return this.#files.logBytes
  }

  run(sql: string, ...values: Parameters<SqliteStatement['run']>): { changes: number; lastId: number } {
    const { changes, lastInsertRowid } = this.#prepared(sql).run(...values)
    return { changes: Number(changes), lastId: Number(lastInsertRowid) }
  }

  get<Row>(sql: string, ...values: Parameters<SqliteStatement['get']>): Row | undefined {
    return this.#prepared(sql).get(...values) as Row | undefined
  }

  all<Row>(sql: string, ...values: Parameters<SqliteStatement['all']>): Row[] {
    // Copied, because in some test runners the driver's arrays belong to another realm and are equal to no array of the test.
    return [...this.#prepared(sql).all(...values)] as Row[]
  }

  /** Runs `work` and commits. The changes are durable after `sync`. If this throws, nothing was changed. */
  transaction<Result>(work: () => Result): Result {
    this.run('BEGIN IMMEDIATE')
    try {
      this.checkVersion()
      const result = work()
      this.run('COMMIT')
      return result
    } catch (error) {
      try {
        this.run('ROLLBACK')
      } catch {
        // After some errors SQLite has rolled back already.
      }
      throw error
    }
  }

  /**
   * Closes the file. Returns false, and changes nothing, if another program uses other -wal and -shm files than this
   * connection, or has cut our log: copying our log into the database could then corrupt it.
   */
  close(): boolean {
    const state = this.filesState()
    const isDoubtful = state === 'replaced' || state === 'cut'
    if (isDoubtful && !(bytesIn(`${this.#file}-wal`) === 0 && this.#leaveWal())) return false
    this.#statements.clear()
    this.#log?.close()
    try {
      // Every other connection then has the same log, so the locks on it work.
      if (state === 'moved' || !this.#leaveWal()) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      this.#database.close()
      if (state === 'moved') this.#files.deleteLeftLog()
    }
    return true
  }

  /**
   * Copies the log into the database and deletes it, if no other connection has the file open. @photostructure/sqlite closes a
   * database with a log only after every statement was garbage collected. Another file may have replaced the database by
   * then, and nothing may be left that would be written to that file.
   */
  #leaveWal(): boolean {
    try {
      this.#database.exec('PRAGMA journal_mode = DELETE')
      return this.get<{ journal_mode: string }>('PRAGMA journal_mode')!.journal_mode !== 'wal'
    } catch {
      return false
    }
  }

  /** Whether the -wal file is shorter than the log, by what all connections know of it. */
  #lacksFrames(): boolean {
    // More than once, because another process may let the log begin anew between the two looks.
    for (let looks = 0; looks < 3; looks++) {
      this.logFrames()
      if (bytesIn(`${this.#file}-wal`) >= this.#leastLogBytes) return false
    }
    return true
  }

  /** It may be that of a process that died after a sync had failed: see `KeptConnection`. */
  #emptyFoundLog(): void {
    try {
      this.emptyLog()
    } catch (error) {
      // Others have the file open.
      if (!isBusy(error)) throw error
    }
  }

  #prepared(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

// https://sqlite.org/fileformat2.html#the_write_ahead_log
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
