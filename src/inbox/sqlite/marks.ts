import { randomBytes } from 'node:crypto'
import { chownSync, closeSync, openSync, readdirSync, statSync, truncateSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { bytesIn } from './open-files.js'

/**
 * A file whose length says whether something is so, 1 or 0: to create a file, or to write to one, needs room, which a full disk does
 * not have. It is not synced: it has to outlive a process, not the machine.
 */
export class Mark {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  get isSet(): boolean {
    return bytesIn(this.path) > 0
  }

  set(): void {
    truncateSync(this.path, 1)
  }

  clear(): void {
    truncateSync(this.path, 0)
  }

  delete(): void {
    unlinkSync(this.path)
  }
}

/**
 * Set when a write or a sync failed: the page cache may hold pages that the disk will never have, whatever later syncs say. No process
 * acknowledges anything until the files were copied.
 */
export function doubtOf(file: string): Mark {
  return new Mark(`${file}-doubt`)
}

/**
 * A mark of one process, set while it copies the log into the database, and until all of the log was copied and synced. If the process
 * dies meanwhile, nobody knows whether its syncs would have failed.
 */
export function newCheckpointMark(file: string): Mark {
  return new Mark(`${file}${CHECKPOINT}${randomBytes(8).toString('hex')}`)
}

/** The marks of all processes that are set. */
export function setCheckpointMarks(file: string): Mark[] {
  return checkpointMarks(file).filter(({ isSet }) => isSet)
}

/** Only for who has the inbox alone: no living process has such a mark. */
export function deleteCheckpointMarks(file: string): void {
  for (const mark of checkpointMarks(file)) mark.delete()
}

function checkpointMarks(file: string): Mark[] {
  const folder = dirname(file)
  const names = readdirSync(folder).filter((name) => name.startsWith(`${basename(file)}${CHECKPOINT}`))
  return names.map((name) => new Mark(join(folder, name)))
}

/** Creates an empty file beside the database if there is none, for its owner and with its mode, as SQLite does for its files. */
export function createBeside(file: string, path: string): void {
  const { mode, uid, gid } = statSync(file)
  try {
    closeSync(openSync(path, 'ax', mode & 0o777))
    if (process.getuid?.() === 0) chownSync(path, uid, gid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

const CHECKPOINT = '-checkpoint.'
