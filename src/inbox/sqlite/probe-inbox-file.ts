import { randomUUID } from 'node:crypto'
import { accessSync, closeSync, constants, existsSync, openSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Logger } from '../../logging/logger.js'
import { loadDriver, type SqliteDriver } from './driver.js'
import { inboxError } from './inbox-error.js'
import { BUSY_WAIT_MS, readInboxFile } from './read-inbox-file.js'
import { warnOfOldSqlite } from './sqlite-version.js'
import { checkTrustedFile } from './trusted-file.js'
import { refuseDoubt } from './write-lock.js'

/**
 * Finds out whether an inbox could be opened and written, and warns of an old SQLite. Leaves everything as it was: no file is made,
 * no schema brought up to date, no mode of the journal changed.
 * @throws CountersignError as SqliteInbox does
 */
export async function probeInboxFile(file: string, logger: Logger): Promise<void> {
  const driver = await loadDriver()
  warnOfOldSqlite(versionOf(driver), logger)
  try {
    checkTrustedFile(file)
    if (!existsSync(file)) return probeFolder(dirname(file))
    accessSync(file, constants.W_OK)
    // A file that is not an inbox must not be opened for writing.
    await readInboxFile(file, () => {})
    refuseDoubt(file)
    // See `OpenDatabase`.
    const guard = new driver.DatabaseSync(file, { readOnly: true })
    try {
      guard.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}; SELECT count(*) FROM sqlite_schema`)
      const database = new driver.DatabaseSync(file)
      try {
        database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}; BEGIN IMMEDIATE; ROLLBACK`)
      } finally {
        database.close()
      }
    } finally {
      guard.close()
    }
  } catch (error) {
    throw inboxError(error, file)
  }
}

function versionOf({ DatabaseSync }: SqliteDriver): string {
  const database = new DatabaseSync(':memory:')
  try {
    return (database.prepare('SELECT sqlite_version() AS version').get() as { version: string }).version
  } finally {
    database.close()
  }
}

/** Creates a file, because permissions do not tell what a read-only or virtual file system allows. */
function probeFolder(folder: string): void {
  const file = join(folder, `.countersign-probe-${randomUUID()}`)
  closeSync(openSync(file, 'ax', 0o600))
  unlinkSync(file)
}
