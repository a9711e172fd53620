import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { CountersignError } from '../../errors.js'
import type { SqliteDatabase, SqliteDriver, SqliteStatement } from './driver.js'
import { migrate } from './schema.js'

/** An open file. Its methods are synchronous; the one that takes long is `transaction`, which waits for the disk. */
export class Connection {
  readonly #database: SqliteDatabase
  readonly #file: string
  readonly #identity: string
  readonly #statements = new Map<string, SqliteStatement>()
  readonly sqliteVersion: string

  /** Throws what SQLite or the file system throws, or CountersignError ERR_INBOX_NEWER, ERR_INBOX_CORRUPT. */
  constructor(driver: SqliteDriver, file: string) {
    ensureFile(file)
    const opened = identityOf(file)
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
      this.#identity = opened + identityOf(`${file}-wal`)
      this.sqliteVersion = this.get<{ version: string }>('SELECT sqlite_version() AS version')!.version
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  /** Whether the files are still those that were opened: what is committed to a deleted one, or its log, is lost. */
  isCurrent(): boolean {
    return identityOf(this.#file) + identityOf(`${this.#file}-wal`) === this.#identity
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

  close(): void {
    this.#statements.clear()
    try {
      // @photostructure/sqlite lets go of the file only once every statement has been garbage collected, which may be
      // long after another has been put in its place: nothing may be left that would then be written to it.
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      this.#database.close()
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
  if (existsSync(file)) return accessSync(file, constants.W_OK)
  // It will hold payloads, which are nobody else's business; SQLite gives the files beside it the same mode.
  closeSync(openSync(file, 'a', 0o600))
}

function identityOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.dev}:${found.ino};` : ';'
}
