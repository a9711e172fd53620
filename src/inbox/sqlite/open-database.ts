import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs'
import { CountersignError } from '../../base/errors.js'
import type { SqliteDatabase, SqliteDriver } from './driver.js'
import { migrate } from './schema.js'
import { checkTrustedFile } from './trusted-file.js'

export interface OpenDatabase {
  readonly database: SqliteDatabase
  /**
   * The last connection that is closed copies the log into the database, deletes the log, and reports no failure. One that only
   * reads does not. At the end of a process the drivers close in different orders, so one is opened before, and one after it.
   */
  readonly guards: readonly SqliteDatabase[]
  /** Whether the schema was made or changed. */
  readonly isNew: boolean
}

/**
 * Opens the database of an inbox, and brings its schema up to date. Throws what SQLite or the file system throws, or
 * CountersignError ERR_INBOX_NEWER, ERR_INBOX_CORRUPT, ERR_INBOX_REPLACED.
 */
export function openDatabase(driver: SqliteDriver, file: string): OpenDatabase {
  const guards: SqliteDatabase[] = []
  let database: SqliteDatabase | undefined
  const opened = (options?: { readOnly: boolean }) => {
    const each = options ? new driver.DatabaseSync(file, options) : new driver.DatabaseSync(file)
    each.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}; PRAGMA wal_autocheckpoint = 0`)
    return each
  }
  const guard = () => {
    const each = opened(READ_ONLY)
    guards.push(each)
    each.exec(READ)
    return each
  }
  try {
    const first = guard()
    database = opened()
    database.exec('PRAGMA journal_mode = WAL')
    // It holds its lock from now on, if the log is new.
    first.exec(READ)
    checkMode(database, file)
    database.exec(PRAGMAS)
    guard()
    const isNew = migrate(database, file)
    return { database, guards, isNew }
  } catch (error) {
    for (const each of database ? [database, ...guards] : guards) each.close()
    throw error
  }
}

function checkMode(database: SqliteDatabase, file: string): void {
  const { journal_mode: mode } = database.prepare('PRAGMA journal_mode').get() as { journal_mode: string }
  if (mode === 'wal') return
  const message = `${file} is on a file system that does not allow write-ahead logging. Use a local disk.`
  throw new CountersignError('ERR_INBOX_IO', message)
}

/** Short, because the wait may block the event loop. GroupCommit tries again for longer. In milliseconds. */
export const BUSY_WAIT_MS = 10
const READ_ONLY = { readOnly: true }
// `exec` leaves no statement behind, which would keep a database of @photostructure/sqlite open.
const READ = 'SELECT count(*) FROM sqlite_schema'

// synchronous: the disk has a commit before it returns. fullfsync: without it macOS does not wait for the disk.
const PRAGMAS = `
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = ON;
  PRAGMA checkpoint_fullfsync = ON;
  PRAGMA cache_size = -32000;
  PRAGMA journal_size_limit = 67108864;
`

/** Creates the file if it does not exist. @throws CountersignError ERR_INBOX_UNTRUSTED, ERR_INBOX_IO */
export function ensureFile(file: string): void {
  // An existing file is not opened here: closing it would release the locks that other connections of this process have on
  // it, and another process could delete the log while they use it (https://sqlite.org/howtocorrupt.html, 2.2).
  checkTrustedFile(file)
  if (existsSync(file)) return accessSync(file, constants.W_OK)
  // It will hold payloads, which other users must not read. SQLite gives the files beside it the same mode.
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch (error) {
    // Another process has created the file or a link in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    checkTrustedFile(file)
  }
}
