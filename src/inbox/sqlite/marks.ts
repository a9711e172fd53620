import { chownSync, closeSync, openSync, statSync, truncateSync } from 'node:fs'
import { bytesIn } from './open-files.js'

/**
 * A file whose length says what is so: to create a file, or to write to one, needs room, which a full disk does not have. It is not
 * synced: it has to outlive a process, not the machine.
 */
export class Mark {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** 0: it is not set. */
  get value(): number {
    return bytesIn(this.path)
  }

  set(value: number): void {
    truncateSync(this.path, value)
  }
}

/**
 * Set when a write or a sync failed: the page cache may hold pages that the disk will never have, whatever later syncs say. No process
 * acknowledges anything until the files were copied.
 */
export function doubtOf(file: string): Mark {
  return new Mark(`${file}-doubt`)
}

/** Set while a process writes: see WriteLock. */
export function writingOf(file: string): Mark {
  return new Mark(`${file}-writing`)
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
