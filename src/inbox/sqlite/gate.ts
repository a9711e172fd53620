import type { SqliteDatabase, SqliteDriver } from './driver.js'
import { isBusy } from './inbox-error.js'

/**
 * Says who has the inbox open. Whoever has, holds a shared lock on this file; whoever copies the files of the inbox, an exclusive
 * one. It is an empty database without a log, so that the locks are those of SQLite on every system, and end with the process.
 */
export class Gate {
  readonly #database: SqliteDatabase

  /** `path`: an empty file. Throws what SQLite throws. */
  constructor(driver: SqliteDriver, path: string) {
    this.#database = new driver.DatabaseSync(path)
    // Nothing is written to it. A journal in a file would need room on a disk that may be full.
    this.#database.exec('PRAGMA busy_timeout = 20; PRAGMA journal_mode = MEMORY')
  }

  /** Whether nobody else has the inbox open. If so, nobody can open it until `share` or `close`. */
  closeToOthers(): boolean {
    try {
      this.#database.exec('BEGIN EXCLUSIVE')
      return true
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
  }

  openToOthers(): void {
    this.#database.exec('ROLLBACK')
  }

  /** Throws SQLITE_BUSY while somebody copies the files. */
  share(): void {
    this.#database.exec('BEGIN')
    try {
      // `exec` leaves no statement behind, which would keep a database of @photostructure/sqlite open.
      this.#database.exec('SELECT count(*) FROM sqlite_schema')
    } catch (error) {
      this.#database.exec('ROLLBACK')
      throw error
    }
  }

  close(): void {
    this.#database.close()
  }
}
