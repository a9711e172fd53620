import { chownSync, closeSync, openSync, statSync, truncateSync } from 'node:fs'
import { CountersignError } from '../../base/errors.js'
import { property } from '../../base/foreign-value.js'
import { bytesIn } from './open-files.js'

/** Everything that was committed is in the page cache, and what was synced is on the disk. */
export const SOUND = 0
/**
 * A sync of the log failed. The system takes pages to be on the disk that are not, and a later sync does not write them. Once the
 * whole log is in the database, and begins anew, nothing depends on them.
 */
export const LOG = 1
/**
 * A sync of the database failed. On ext4 with its defaults a block whose first write failed reads as zeros after a power loss,
 * also if it was written and synced again with success. Only a copy of the file is sound.
 */
export const DATABASE = 2
export type Doubt = typeof SOUND | typeof LOG | typeof DATABASE

/**
 * Where every process that uses the file, and every later one, learns that a sync of the disk failed. The length of this file is a
 * `Doubt`: to create or write a file needs room, which a full disk does not have.
 */
export function doubtFile(file: string): string {
  return `${file}-doubt`
}

/** Creates what `setDoubt` needs, for the owner and with the mode of the database, as SQLite does for its files. */
export function prepareDoubt(file: string): void {
  const { mode, uid, gid } = statSync(file)
  try {
    closeSync(openSync(doubtFile(file), 'ax', mode & 0o777))
    if (process.getuid?.() === 0) chownSync(doubtFile(file), uid, gid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

export function doubtOf(file: string): Doubt {
  return Math.min(bytesIn(doubtFile(file)), DATABASE) as Doubt
}

/** Never replaces the greater doubt. */
export function setDoubt(file: string, doubt: Doubt): void {
  if (doubtOf(file) >= doubt) return
  // Somebody may have deleted it.
  prepareDoubt(file)
  truncateSync(doubtFile(file), doubt)
}

/** To be called once the log has begun anew, by who holds the lock for writing: it may not hide a doubt about the database. */
export function endDoubtOfLog(file: string): void {
  if (doubtOf(file) === LOG) truncateSync(doubtFile(file), SOUND)
}

/** The results of SQLite after which no page was left to be synced (https://sqlite.org/rescode.html): BUSY, LOCKED, READONLY, FULL. */
export const WITHOUT_DOUBT: readonly number[] = [5, 6, 8, 13]

/** To be called when the log could not be copied into the database. */
export function setDoubtAfter(error: unknown, file: string): void {
  const errcode = property(error, 'errcode')
  if (typeof errcode === 'number' && WITHOUT_DOUBT.includes(errcode & 0xff)) return
  setDoubt(file, DATABASE)
}

/** @throws CountersignError ERR_INBOX_IO for a file whose database may lack pages on the disk */
export function refuseDoubtfulDatabase(file: string): void {
  if (doubtOf(file) !== DATABASE) return
  const message =
    `${file} may lack pages on its disk, because a sync of it failed, and is not used. Stop every process that uses it, put ` +
    `copies of it and of ${file}-wal in their places, delete ${file}-shm and ${doubtFile(file)}, and start them again`
  throw new CountersignError('ERR_INBOX_IO', message)
}
