import fs from 'node:fs'
import { pathToFileURL } from 'node:url'
import { runInThisContext } from 'node:vm'
import { DATABASE, doubtFile, WITHOUT_DOUBT } from './doubt.js'
import type { SqliteDriver } from './driver.js'
import { maySyncFiles } from './log-sync.js'

export interface LogFiles {
  readonly uri: string
  readonly log: string
  readonly doubt: string
  readonly maySync: boolean
}

export function logFiles(file: string): LogFiles {
  return {
    // Without `mode=rw` it would create a file if the file was deleted.
    uri: `${pathToFileURL(file).href}?mode=rw`,
    log: `${file}-wal`,
    doubt: doubtFile(file),
    maySync: maySyncFiles(),
  }
}

/**
 * Copies the log of a database into it, as far as no reader needs it, and syncs both. Another connection of the process must have
 * the file open. Throws what SQLite throws; an error of a system call if the log could not be synced.
 */
export function copyLog(driver: SqliteDriver, file: string): void {
  const copy = runInThisContext(COPY_LOG) as (...given: unknown[]) => void
  copy(driver, fs, logFiles(file))
}

/**
 * A text, because it is a part of the program of a thread too, and a bundler may make functions depend on others. Nobody commits
 * while `lock` waits for the copy. So nobody begins the log anew before it is known, and marked, that a sync failed. `exec` leaves
 * no statement behind, which would keep a database of @photostructure/sqlite open. Reading the version comes first, because a
 * connection that has read nothing does not know that there is a log.
 */
export const COPY_LOG = `({ DatabaseSync }, fs, { uri, log, doubt, maySync }) => {
  const open = []
  try {
    for (let count = 0; count < 2; count++) {
      open.push(new DatabaseSync(uri))
      open[count].exec('PRAGMA busy_timeout = 20; PRAGMA synchronous = FULL; PRAGMA checkpoint_fullfsync = ON')
      open[count].exec('PRAGMA wal_autocheckpoint = 0; PRAGMA user_version')
    }
    const [lock, copying] = open
    lock.exec('BEGIN IMMEDIATE')
    if (fs.statSync(doubt, { throwIfNoEntry: false })?.size === ${DATABASE}) throw new Error('the database is in doubt')
    // If SQLite synced it, a failure could not be told from one of the database, which cannot be made good.
    if (maySync) {
      const descriptor = fs.openSync(log, 'r+')
      try {
        fs.fdatasyncSync(descriptor)
      } finally {
        fs.closeSync(descriptor)
      }
    }
    try {
      copying.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (error) {
      if (![${WITHOUT_DOUBT.join()}].includes(error.errcode & 0xff)) fs.truncateSync(doubt, ${DATABASE})
      throw error
    }
  } finally {
    for (const database of open) database.close()
  }
}`
