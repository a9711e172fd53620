import { pathToFileURL } from 'node:url'
import { CountersignError } from '../../base/errors.js'
import type { SqliteDatabase, SqliteDriver } from './driver.js'
import { isBusy, isNoDatabase } from './inbox-error.js'
import { bytesIn, hasLogFiles } from './open-files.js'
import { checkedVersion } from './schema.js'

/**
 * Checks what a file holds, without writing to it and without creating files beside it. It may be the database of another
 * program, and an ordinary connection would switch that to write-ahead logging.
 * @throws CountersignError ERR_INBOX_CORRUPT, ERR_INBOX_NEWER; or what SQLite throws
 */
export function lookFirst(driver: SqliteDriver, file: string): void {
  if (bytesIn(file) === 0) return
  let version: number | undefined
  try {
    // `immutable` takes no locks and creates no -wal and -shm. It does not see what is only in a log.
    version = versionOf(new driver.DatabaseSync(`${pathToFileURL(file).href}?immutable=1`, READ_ONLY), file)
  } catch (error) {
    if (error instanceof CountersignError || isNoDatabase(error)) throw error
    // Without locks a page may be read while another process writes it. The check below takes locks.
  }
  if (version === undefined || (version === 0 && bytesIn(`${file}-wal`) > 0)) {
    versionOf(new driver.DatabaseSync(file, READ_ONLY), file)
  }
}

/**
 * Refuses a file whose -wal or -shm was deleted while processes had it open. They continue to use the deleted files and the
 * locks on them. A connection with new files would write at the same time and corrupt the database. Every open connection
 * holds a shared lock on the database file. Therefore an exclusive lock proves that there is no open connection.
 *
 * Not for a file with a log: SQLite would copy it at the end, and say nothing of a sync that fails.
 * @throws CountersignError ERR_INBOX_REPLACED, after which trying again may help
 */
export function refuseLostLog(driver: SqliteDriver, file: string): void {
  if (!lacksLog(file)) return
  const probe = new driver.DatabaseSync(file)
  try {
    probe.exec(
      'PRAGMA busy_timeout = 10; PRAGMA locking_mode = EXCLUSIVE; SELECT count(*) FROM sqlite_schema',
    )
  } catch (error) {
    throw isBusy(error) ? lostLog(file, error) : error
  } finally {
    probe.close()
  }
}

export function lacksLog(file: string): boolean {
  return bytesIn(file) > 0 && !hasLogFiles(file)
}

export function lostLog(file: string, cause?: unknown): Error {
  const message =
    `${file} is open in another process, but its -wal or -shm is not there: it was deleted under that process. To ` +
    'write to it now would corrupt it. Stop every process that uses the file, and then start them again'
  // The code of SQLite makes the caller try again: the other process may just be opening or closing the file.
  return Object.assign(new CountersignError('ERR_INBOX_REPLACED', message, { cause }), { errcode: 5 })
}

const READ_ONLY = { readOnly: true }

function versionOf(database: SqliteDatabase, file: string): number {
  try {
    return checkedVersion(database, file)
  } finally {
    database.close()
  }
}
