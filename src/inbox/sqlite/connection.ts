import { CountersignError } from '../../base/errors.js'
import { property } from '../../base/foreign-value.js'
import { copyLog } from './copy-log.js'
import {
  DATABASE,
  doubtOf,
  endDoubtOfLog,
  LOG,
  refuseDoubtfulDatabase,
  setDoubt,
  setDoubtAfter,
  SOUND,
} from './doubt.js'
import type { SqliteDatabase, SqliteDriver, SqliteStatement } from './driver.js'
import { isBusy } from './inbox-error.js'
import { LogSync, maySyncFiles } from './log-sync.js'
import { openDatabase } from './open-database.js'
import { bytesIn, OpenFiles, type FilesState } from './open-files.js'
import { checkedVersion, SCHEMA_VERSION } from './schema.js'
import { isSafeSqlite } from './sqlite-version.js'

interface CheckpointRow {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

/** An open file. Its methods are synchronous, except `sync`. */
export class Connection {
  readonly #driver: SqliteDriver
  readonly #database: SqliteDatabase
  readonly #guards: SqliteDatabase[]
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
  constructor(driver: SqliteDriver, file: string, { mustEmptyLog = false } = {}) {
    this.#driver = driver
    this.#file = file
    const { database, guards } = openDatabase(driver, file)
    this.#database = database
    this.#guards = [...guards]
    let log: LogSync | undefined
    try {
      if (maySyncFiles()) this.#log = log = new LogSync(file)
      else this.#database.exec('PRAGMA synchronous = FULL')
      this.#files = new OpenFiles(file)
      this.#pageBytes = this.get<{ page_size: number }>('PRAGMA page_size')!.page_size
      this.#emptyFoundLog(mustEmptyLog)
      this.sqliteVersion = this.get<{ version: string }>('SELECT sqlite_version() AS version')!.version
    } catch (error) {
      log?.close()
      if (!this.#isKept()) this.#closeUncopied()
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

  /** How many pages of the log have not been copied into the database. */
  uncopiedFrames(): number {
    const { log, checkpointed } = this.get<CheckpointRow>('PRAGMA wal_checkpoint(NOOP)')!
    this.#leastLogBytes = log === 0 ? 0 : LOG_HEADER_BYTES + log * (this.#pageBytes + FRAME_HEADER_BYTES)
    return Math.max(0, log - checkpointed)
  }

  /** The size of the log, and how much of it has not been copied into the database, in bytes. */
  uncopied(): { logBytes: number; heldBytes: number } {
    const { logBytes } = this.#files
    // An older SQLite would copy it.
    if (!isSafeSqlite(this.sqliteVersion)) return { logBytes, heldBytes: 0 }
    const heldBytes = this.uncopiedFrames() * this.#pageBytes
    // The file may be longer than a log that has begun anew.
    return { logBytes: this.#leastLogBytes, heldBytes }
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
      // Whoever begins the log anew looks here, and whoever copies it marks a failure, while others cannot commit.
      this.#refuseDoubt()
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
   * connection, or has cut our log: copying our log into the database could then corrupt it. Also if the disk may lack pages of
   * the database, which are in the log.
   */
  close(): boolean {
    if (this.#isKept()) return false
    const state = this.filesState()
    const isDoubtful = state === 'replaced' || state === 'cut'
    if (isDoubtful && !(bytesIn(`${this.#file}-wal`) === 0 && this.#hasLeftWal())) return false
    this.#statements.clear()
    if (state !== 'moved' && (doubtOf(this.#file) !== SOUND || !this.#isLogSynced())) {
      this.#closeUncopied()
      return true
    }
    this.#log?.close()
    try {
      // Every other connection then has the same log, so the locks on it work.
      if (state === 'moved' || (!this.#leaveWal() && state !== 'current'))
        this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      if (state !== 'moved') setDoubtAfter(error, this.#file)
      throw error
    } finally {
      this.#closeUncopied()
      if (state === 'moved') this.#files.deleteLeftLog()
    }
    return true
  }

  /**
   * With @photostructure/sqlite the database would be closed when its statements are garbage collected, after the guards, and
   * the log be deleted. At the end of the process it is closed between them.
   */
  #isKept(): boolean {
    if (doubtOf(this.#file) !== DATABASE) return false
    KEPT_OPEN.add(this)
    return true
  }

  /** The log stays as it is for who opens the file next. */
  #closeUncopied(): void {
    this.#log?.close()
    for (const each of [this.#database, ...this.#guards.splice(0)]) each.close()
  }

  #isLogSynced(): boolean {
    try {
      this.#log?.syncNow()
      return true
    } catch {
      setDoubt(this.#file, LOG)
      return false
    }
  }

  #refuseDoubt(): void {
    if (doubtOf(this.#file) === SOUND) return
    refuseDoubtfulDatabase(this.#file)
    const message = `${this.#file}: a sync of its log failed in this or another process. It is opened anew`
    throw new CountersignError('ERR_INBOX_IO', message)
  }

  /**
   * Copies the log into the database and deletes it, if no other connection has the file open. @photostructure/sqlite closes a
   * database with a log only after every statement was garbage collected. Another file may have replaced the database by
   * then, and nothing may be left that would be written to that file.
   */
  #leaveWal(): boolean {
    for (const guard of this.#guards.splice(0)) guard.close()
    try {
      this.#database.exec('PRAGMA journal_mode = DELETE')
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
    return this.get<{ journal_mode: string }>('PRAGMA journal_mode')!.journal_mode !== 'wal'
  }

  #hasLeftWal(): boolean {
    try {
      return this.#leaveWal()
    } catch {
      return false
    }
  }

  /** Whether the -wal file is shorter than the log, by what all connections know of it. */
  #lacksFrames(): boolean {
    // More than once, because another process may let the log begin anew between the two looks.
    for (let looks = 0; looks < 3; looks++) {
      this.uncopiedFrames()
      if (bytesIn(`${this.#file}-wal`) >= this.#leastLogBytes) return false
    }
    return true
  }

  /**
   * Copies the log that was found into the database and lets it begin anew. It may be that of a process that died after a sync
   * had failed. Without a mark of that, it may stay while others have the file open.
   */
  #emptyFoundLog(must: boolean): void {
    try {
      if (bytesIn(`${this.#file}-wal`) > 0) {
        copyLog(this.#driver, this.#file)
        const { busy, log, checkpointed } = this.#truncatedLog()
        if (busy !== 0 || log !== checkpointed)
          throw Object.assign(new Error('another process uses the log'), { errcode: 5 })
      }
      if (doubtOf(this.#file) === SOUND) return
      this.run('BEGIN IMMEDIATE')
      endDoubtOfLog(this.#file)
      this.run('ROLLBACK')
    } catch (error) {
      // The next sync would not report it again.
      if (property(error, 'syscall') === 'fdatasync') setDoubt(this.#file, LOG)
      if (must || !isBusy(error) || doubtOf(this.#file) !== SOUND) throw error
    }
  }

  #truncatedLog(): CheckpointRow {
    try {
      return this.get<CheckpointRow>('PRAGMA wal_checkpoint(TRUNCATE)')!
    } catch (error) {
      setDoubtAfter(error, this.#file)
      throw error
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

/** They may not be garbage collected. */
const KEPT_OPEN = new Set<Connection>()

// https://sqlite.org/fileformat2.html#the_write_ahead_log
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
