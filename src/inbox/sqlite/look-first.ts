import { pathToFileURL } from 'node:url'
import { CountersignError } from '../../base/errors.js'
import type { SqliteDatabase, SqliteDriver } from './driver.js'
import { isNoDatabase } from './inbox-error.js'
import { bytesIn } from './open-files.js'
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

const READ_ONLY = { readOnly: true }

function versionOf(database: SqliteDatabase, file: string): number {
  try {
    return checkedVersion(database, file)
  } finally {
    database.close()
  }
}
