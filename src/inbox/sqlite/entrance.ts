import { delay, type Environment } from '../../base/environment.js'
import { CountersignError } from '../../base/errors.js'
import type { SqliteDriver } from './driver.js'
import { Gate } from './gate.js'
import { createBeside, deleteCheckpointMarks, doubtOf, setCheckpointMarks } from './marks.js'
import { bytesIn } from './open-files.js'
import { copyToNewBlocks } from './repair.js'

/**
 * Lets a process into the inbox: after it no process copies the files until `leave`. If nobody else has the inbox open and a write
 * or a sync has failed before, or the process that had it open has died, the files are copied first. `repaired` is called after
 * that.
 * @throws CountersignError ERR_INBOX_IO while others have an inbox open that is in doubt; what SQLite or the system throws
 */
export async function enter(
  driver: SqliteDriver,
  file: string,
  repaired: () => void,
  environment: Environment,
): Promise<{ leave(): void }> {
  for (const path of [gateOf(file), doubtOf(file).path]) createBeside(file, path)
  const gate = new Gate(driver, gateOf(file))
  try {
    if (gate.closeToOthers()) {
      if (copyWhatIsInDoubt(file)) repaired()
      gate.openToOthers()
    }
    gate.share()
    await untilCheckpointsEnd(file, environment)
    refuseDoubt(file)
    return { leave: () => gate.close() }
  } catch (error) {
    gate.close()
    throw error
  }
}

/** Waits until no other process copies the log. If one has died meanwhile, the inbox is in doubt. */
export async function untilCheckpointsEnd(file: string, environment: Environment): Promise<void> {
  const seen = setCheckpointMarks(file)
  const doubt = doubtOf(file)
  const giveUpAt = environment.monotonic() + CHECKPOINT_LIMIT_MS
  while (seen.some(({ isSet }) => isSet) && !doubt.isSet) {
    if (environment.monotonic() > giveUpAt) return doubt.set()
    await delay(environment, LOOK_AGAIN_MS)
  }
}

/** @throws CountersignError ERR_INBOX_IO */
export function refuseDoubt(file: string): void {
  if (!doubtOf(file).isSet) return
  const message =
    `${file}: a write or a sync of the disk failed. Nothing is accepted until its files were copied to other blocks of the ` +
    'disk, which is tried again and again: it needs room for them, and that no other process has the inbox open'
  throw new CountersignError('ERR_INBOX_IO', message)
}

/** Returns whether the database was copied. */
function copyWhatIsInDoubt(file: string): boolean {
  const isInDoubt = doubtOf(file).isSet || setCheckpointMarks(file).length > 0
  if (!maySyncFiles()) {
    if (isInDoubt) throw new CountersignError('ERR_INBOX_IO', `${file}: ${NO_COPIES}`)
    return false
  }
  // A sync of the log may have failed in the process that had the inbox open, and that died before it could say so.
  if (isInDoubt || bytesIn(`${file}-wal`) > 0) copyToNewBlocks(file, { withDatabase: isInDoubt })
  deleteCheckpointMarks(file)
  doubtOf(file).clear()
  return isInDoubt
}

/** The permission model of Node refuses it, whatever files the process may write: a descriptor does not say which file it is. */
function maySyncFiles(): boolean {
  return (process as { readonly permission?: unknown }).permission === undefined
}

const NO_COPIES =
  'a write or a sync of the disk failed, so its files have to be copied to other blocks of the disk. With the permission model of ' +
  'Node (--permission) a process may not sync the copies: stop it, and run "countersign inbox check" without that model'

function gateOf(file: string): string {
  return `${file}-gate`
}

/** How long another process may take to copy its log, in milliseconds. */
const CHECKPOINT_LIMIT_MS = 10_000
const LOOK_AGAIN_MS = 50
