import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs'
import { CountersignError } from '../../base/errors.js'
import type { SqliteDatabase, SqliteDriver, SqliteStatement } from './driver.js'
import { lookFirst, refuseLostLog } from './look-first.js'
import { bytesIn, OpenFiles, type FilesState } from './open-files.js'
import { checkedVersion, migrate, SCHEMA_VERSION } from './schema.js'
import { checkTrustedFile } from './trusted-file.js'

/** An open file. Its methods are synchronous; the one that takes long is `transaction`, which waits for the disk. */
export class Connection {
  readonly #database: SqliteDatabase
  readonly #file: string
  readonly #files: OpenFiles
  readonly #statements = new Map<string, SqliteStatement>()
  readonly sqliteVersion: string

  /** Throws what SQLite or the file system throws, or CountersignError ERR_INBOX_NEWER, ERR_INBOX_CORRUPT, ERR_INBOX_REPLACED. */
  constructor(driver: SqliteDriver, file: string) {
    ensureFile(file)
    lookFirst(driver, file)
    refuseLostLog(driver, file)
    this.#file = file
    this.#database = new driver.DatabaseSync(file)
    try {
      // Short, as the wait blocks the event loop; the queue tries again for longer.
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}`)
      this.#database.exec('PRAGMA journal_mode = WAL')
      const { journal_mode: mode } = this.get<{ journal_mode: string }>('PRAGMA journal_mode')!
      if (mode !== 'wal') {
        const message = `${file} is on a file system that does not allow write-ahead logging. Use a local disk.`
        throw new CountersignError('ERR_INBOX_IO', message)
      }
      this.#database.exec(PRAGMAS)
      migrate(this.#database, file)
      this.#files = new OpenFiles(file)
      this.sqliteVersion = this.get<{ version: string }>('SELECT sqlite_version() AS version')!.version
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  /** Whether the files are still those that were opened: what is committed to a deleted one, or its log, may be lost. */
  filesState(): FilesState {
    return this.#files.state()
  }

  /**
   * Throws where another process has changed the schema since: this version could lose what it does not know.
   * @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_REPLACED
   */
  checkVersion(): void {
    const { user_version: version } = this.get<{ user_version: number }>('PRAGMA user_version')!
    if (version === SCHEMA_VERSION) return
    checkedVersion(this.#database, this.#file)
    const message = `${this.#file} was replaced by a file of an older version while it was open. It is opened anew`
    throw new CountersignError('ERR_INBOX_REPLACED', message)
  }

  /** Size of the log, in bytes, and how many of them cannot be taken over into the database now. */
  checkpoint(): { logBytes: number; heldBytes: number } {
    const { logBytes } = this.#files
    const { log, checkpointed } = this.get<{ log: number; checkpointed: number }>(
      'PRAGMA wal_checkpoint(PASSIVE)',
    )!
    const { page_size: pageBytes } = this.get<{ page_size: number }>('PRAGMA page_size')!
    return { logBytes, heldBytes: Math.max(0, log - checkpointed) * pageBytes }
  }

  /** Size of the -wal file when the files were looked at last. */
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
    // Copied, as the driver's array is of another realm than the caller's in some test runners, and equal to none there.
    return [...this.#prepared(sql).all(...values)] as Row[]
  }

  /** Commits what `work` does. What it returns is durable when this returns; nothing has been done when this throws. */
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
        // Some errors have rolled back already.
      }
      throw error
    }
  }

  /**
   * Lets go of the file. Returns false, and changes nothing, where another program works with other -wal and -shm files
   * than this connection: to take over our log into the database could then corrupt it.
   */
  close(): boolean {
    const state = this.filesState()
    if (state === 'replaced' && !(bytesIn(`${this.#file}-wal`) === 0 && this.#leaveWal())) return false
    this.#statements.clear()
    try {
      // Whoever else has the file open under these circumstances has the same log, so its locks hold.
      if (state === 'moved' || !this.#leaveWal()) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      this.#database.close()
      if (state === 'moved') this.#files.deleteLeftLog()
    }
    return true
  }

  /**
   * Takes over the log into the database and deletes it, where nobody else has the file open. @photostructure/sqlite lets
   * go of a database with a log only once every statement has been garbage collected, which may be long after another has
   * been put in its place: nothing may be left that would then be written to it.
   */
  #leaveWal(): boolean {
    try {
      this.#database.exec('PRAGMA journal_mode = DELETE')
      return this.get<{ journal_mode: string }>('PRAGMA journal_mode')!.journal_mode !== 'wal'
    } catch {
      return false
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

const BUSY_WAIT_MS = 10

// synchronous: one sync of the disk for each commit. It has to be said, as @photostructure/sqlite opens an existing WAL
// file with NORMAL, which loses the latest commits with the power. fullfsync: on macOS a sync is none without it.
const PRAGMAS = `
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = ON;
  PRAGMA checkpoint_fullfsync = ON;
  PRAGMA cache_size = -32000;
  PRAGMA journal_size_limit = 67108864;
`

function ensureFile(file: string): void {
  // A file that is there is not opened here: to close it again would let go of the locks that other connections of this
  // process have on it, and another process would delete the log under them (https://sqlite.org/howtocorrupt.html, 2.2).
  checkTrustedFile(file)
  if (existsSync(file)) return accessSync(file, constants.W_OK)
  // It will hold payloads, which are nobody else's business; SQLite gives the files beside it the same mode.
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch (error) {
    // Another process was quicker, or has put a link there.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    checkTrustedFile(file)
  }
}
