import { CountersignError } from '../../base/errors.js'
import { BUILT_IN, type SqliteDatabase, type SqliteDriver, type SqliteStatement } from './driver.js'
import { isBusy, putsInDoubt } from './inbox-error.js'
import { BUSY_WAIT_MS, openDatabase } from './open-database.js'
import { bytesIn, OpenFiles, type FilesState } from './open-files.js'
import { HeaderSets } from './header-sets.js'
import { checkedVersion, SCHEMA_VERSION } from './schema.js'
import { Sources } from './sources.js'
import { isSafeSqlite } from './sqlite-version.js'
import type { WriteLock } from './write-lock.js'

/** An open file. Its methods are synchronous. */
export class Connection {
  readonly #database: SqliteDatabase
  readonly #guards: SqliteDatabase[]
  readonly #closesLate: boolean
  readonly #file: string
  readonly #lock: WriteLock
  readonly #files: OpenFiles
  #isLogCut = false
  readonly #pageBytes: number
  /** The least length of the -wal file in bytes, computed from the latest known number of its pages. */
  #leastLogBytes = 0
  readonly #statements = new Map<string, SqliteStatement>()
  readonly sources = new Sources()
  readonly headerSets = new HeaderSets()
  readonly sqliteVersion: string
  /** Whether the schema was made or changed, and is in the log alone. */
  readonly isNew: boolean

  /** Throws what SQLite or the file system throws, or CountersignError ERR_INBOX_NEWER, ERR_INBOX_CORRUPT, ERR_INBOX_REPLACED. */
  constructor(driver: SqliteDriver, file: string, lock: WriteLock) {
    this.#file = file
    this.#lock = lock
    const { database, guards, isNew } = openDatabase(driver, file)
    this.#database = database
    this.isNew = isNew
    this.#closesLate = driver.name !== BUILT_IN
    this.#guards = [...guards]
    try {
      this.#files = new OpenFiles(file)
      this.#pageBytes = this.get<{ page_size: number }>('PRAGMA page_size')!.page_size
      this.sqliteVersion = this.get<{ version: string }>('SELECT sqlite_version() AS version')!.version
    } catch (error) {
      this.closeUncopied()
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

  /** How many pages of the log have not been copied into the database. */
  uncopiedFrames(): number {
    const { log, checkpointed } = this.get<{ log: number; checkpointed: number }>(
      'PRAGMA wal_checkpoint(NOOP)',
    )!
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

  /** Runs `work` and commits. If this throws, nothing was changed, unless the disk has failed. */
  transaction<Result>(work: () => Result): Result {
    return this.#lock.writeLog(
      () => this.#emptyLog(),
      () => this.#committed(work),
    )
  }

  /** Returns whether no reader, and no full disk, has kept it from that. */
  #emptyLog(): boolean {
    this.#database.exec(`PRAGMA busy_timeout = ${READER_LIMIT_MS}`)
    try {
      return this.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')!.busy === 0
    } catch (error) {
      if (putsInDoubt(error)) throw error
      return false
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}`)
    }
  }

  #committed<Result>(work: () => Result): Result {
    this.run('BEGIN IMMEDIATE')
    try {
      this.checkVersion()
      const result = work()
      this.run('COMMIT')
      return result
    } catch (error) {
      this.sources.forget()
      this.headerSets.forget()
      try {
        this.run('ROLLBACK')
      } catch {
        // After some errors SQLite has rolled back already.
      }
      throw error
    }
  }

  /**
   * Whether the file may be closed. Not if another program uses other -wal and -shm files than this connection, or has cut our log:
   * copying our log into the database could then corrupt it.
   */
  get mayClose(): boolean {
    const state = this.filesState()
    const isForeign = state === 'replaced' || state === 'cut'
    return !isForeign || (bytesIn(`${this.#file}-wal`) === 0 && this.#hasLeftWal())
  }

  /** Closes the file as it is. Its log stays for who opens it next. */
  closeUncopied(): void {
    this.#statements.clear()
    this.#database.close()
    // With @photostructure/sqlite the database is closed when its statements are garbage collected. If it were the last connection
    // then, it would delete the log that is in the place of its own by now.
    if (this.#closesLate) KEPT_OPEN.add(this)
    else for (const guard of this.#guards.splice(0)) guard.close()
  }

  /** Closes a file whose log has been copied, or that is not in its place any more. */
  close(): void {
    const isMoved = this.filesState() === 'moved'
    try {
      // Nothing is left then that would be written to a file that replaces this one. Otherwise others have the file open.
      if (!isMoved) this.#leaveWal()
    } finally {
      this.#statements.clear()
      for (const each of [this.#database, ...this.#guards.splice(0)]) each.close()
      if (isMoved) this.#files.deleteLeftLog()
    }
  }

  /** Copies the log into the database and deletes it, if no other connection has the file open. */
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

  #prepared(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** How long a log that has to be emptied at once waits for readers, in milliseconds. */
const READER_LIMIT_MS = 1_000

/** They may not be garbage collected. */
const KEPT_OPEN = new Set<Connection>()

// https://sqlite.org/fileformat2.html#the_write_ahead_log
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
