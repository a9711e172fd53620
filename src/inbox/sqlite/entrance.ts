import { CountersignError } from '../../base/errors.js'
import type { SqliteDriver } from './driver.js'
import { Gate } from './gate.js'
import { lacksLog, lostLog, refuseLostLog } from './look-first.js'
import { createBeside, doubtOf, writingOf } from './marks.js'
import { bytesIn } from './open-files.js'
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
      if (bytesIn(`${file}-wal`) === 0) refuseLostLog(driver, file)
      gate.openToOthers()
    } else {
      refuseDoubt(file)
      if (lacksLog(file)) throw lostLog(file)
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

/** Returns whether the database was copied. */
function copyWhatIsInDoubt(file: string): boolean {
  const isInDoubt = doubtOf(file).value > 0 || databaseLacks(file)
  const mayCopy = maySyncFiles()
  if (isInDoubt && !mayCopy) throw new CountersignError('ERR_INBOX_IO', `${file}: ${NO_COPIES}`)
  // A sync of the log may have failed in the process that had the inbox open, and that died before it could say so. If the index of the
  // log was deleted, a connection that nobody waits for may still have it, of the same database.
  if (mayCopy && (isInDoubt || bytesIn(`${file}-wal`) > 0))
    copyToNewBlocks(file, { withDatabase: isInDoubt || lacksLog(file) })
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
