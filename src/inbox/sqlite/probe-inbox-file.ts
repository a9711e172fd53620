import { randomUUID } from 'node:crypto'
import { accessSync, closeSync, constants, existsSync, openSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { loadDriver } from './driver.js'
import { inboxError } from './inbox-error.js'
import { BUSY_WAIT_MS, readInboxFile } from './read-inbox-file.js'
import { checkTrustedFile } from './trusted-file.js'

/**
 * Finds out whether an inbox could be opened and written. Leaves everything as it was: no file is made, no schema brought up
 * to date, no mode of the journal changed.
 * @throws CountersignError as SqliteInbox does
 */
export async function probeInboxFile(file: string): Promise<void> {
  const driver = await loadDriver()
  try {
    checkTrustedFile(file)
    if (!existsSync(file)) return probeDirectory(dirname(file))
    accessSync(file, constants.W_OK)
    // First by looking: what is no inbox is not opened for writing.
    await readInboxFile(file, () => {})
    const database = new driver.DatabaseSync(file)
    try {
      database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}; BEGIN IMMEDIATE; ROLLBACK`)
    } finally {
      database.close()
    }
  } catch (error) {
    throw inboxError(error, file)
  }
}

/** By making a file: permissions do not tell what a read-only or virtual file system allows. */
function probeDirectory(directory: string): void {
  const file = join(directory, `.countersign-probe-${randomUUID()}`)
  closeSync(openSync(file, 'ax', 0o600))
  unlinkSync(file)
}
