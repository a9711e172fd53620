import { CountersignError } from '../../base/errors.js'
import type { SqliteDriver } from './driver.js'
import { Gate } from './gate.js'
import { createBeside, doubtOf, writingOf } from './marks.js'
import { bytesIn, hasLogFiles } from './open-files.js'
import { copyToNewBlocks } from './repair.js'
import { databaseLacks, refuseDoubt, WriteLock } from './write-lock.js'

export interface Entrance {
  readonly lock: WriteLock
  leave(): void
}

/**
 * Lets a process into the inbox: after it no process copies the files until `leave`. If nobody else has the inbox open and a write
 * or a sync has failed before, or the process that had it open has died, the files are copied first. `repaired` is called after
 * that.
 * @throws CountersignError ERR_INBOX_IO while others have an inbox open that is in doubt; ERR_INBOX_REPLACED while others have one
 * whose -wal or -shm is not there; what SQLite or the system throws
 */
export function enter(driver: SqliteDriver, file: string, repaired: () => void): Entrance {
  const path = `${file}-gate`
  for (const each of [path, doubtOf(file).path, writingOf(file).path]) createBeside(file, each)
  const gate = new Gate(driver, path)
  try {
    if (gate.closeToOthers()) {
      if (copyWhatIsInDoubt(file)) repaired()
      gate.openToOthers()
    } else {
      refuseDoubt(file)
      refuseLostLog(file)
    }
    gate.share()
    refuseDoubt(file)
    const lock = new WriteLock(driver, path, file)
    const leave = () => {
      lock.close()
      gate.close()
    }
    return { lock, leave }
  } catch (error) {
    gate.close()
    throw error
  }
}

/**
 * Refuses a file whose -wal or -shm was deleted while processes had it open. They continue to use the deleted files and the locks on them. A
 * connection with new files would write at the same time and corrupt the database. It is not opened to find out whether they do: SQLite
 * copies a log that nobody has open, and says nothing of a sync that fails.
 */
function refuseLostLog(file: string): void {
  if (bytesIn(file) === 0 || hasLogFiles(file)) return
  const message =
    `${file} is open in another process, but its -wal or -shm is not there: it was deleted under that process. To ` +
    'write to it now would corrupt it. Stop every process that uses the file, and then start them again'
  // The code of SQLite makes the caller try again: the other process may just be opening or closing the file.
  throw Object.assign(new CountersignError('ERR_INBOX_REPLACED', message), { errcode: 5 })
}

/** Returns whether the database was copied. */
function copyWhatIsInDoubt(file: string): boolean {
  const isInDoubt = doubtOf(file).value > 0 || databaseLacks(file)
  const mayCopy = maySyncFiles()
  if (isInDoubt && !mayCopy) throw new CountersignError('ERR_INBOX_IO', `${file}: ${NO_COPIES}`)
  // A sync of the log may have failed in the process that had the inbox open, and that died before it could say so.
  if (mayCopy && (isInDoubt || bytesIn(`${file}-wal`) > 0)) copyToNewBlocks(file, { withDatabase: isInDoubt })
  for (const mark of [writingOf(file), doubtOf(file)]) mark.set(0)
  return isInDoubt
}

/** The permission model of Node refuses it, whatever files the process may write: a descriptor does not say which file it is. */
function maySyncFiles(): boolean {
  return (process as { readonly permission?: unknown }).permission === undefined
}

const NO_COPIES =
  'a write or a sync of the disk failed, so its files have to be copied to other blocks of the disk. With the permission model of ' +
  'Node (--permission) a process may not sync the copies: stop it, and run "countersign inbox check" without that model'
