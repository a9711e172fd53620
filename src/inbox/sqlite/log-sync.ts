import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'

/**
 * Syncs the -wal file of an open database while the event loop goes on. A sync of the file covers every commit that was written
 * to it before, also by other processes: SQLite itself syncs a log before it begins to write over it.
 */
export class LogSync {
  // Writable, because Windows flushes nothing through a descriptor for reading. SQLite has no locks on this file, which closing
  // the descriptor would release.
  readonly #descriptor: number
  #running = 0
  #isClosed = false

  constructor(file: string) {
    this.#descriptor = openSync(`${file}-wal`, 'r+')
  }

  /** Resolves once everything that was written before the call is on the disk. Where it rejects, that may be lost or not. */
  async sync(): Promise<void> {
    this.#running++
    try {
      await new Promise<void>((resolve, reject) => {
        fdatasync(this.#descriptor, (error) => (error ? reject(error) : resolve()))
      })
    } finally {
      this.#running--
      this.#closeUnused()
    }
  }

  /** Like `sync`, but blocks the event loop. */
  syncNow(): void {
    fdatasyncSync(this.#descriptor)
  }

  close(): void {
    this.#isClosed = true
    this.#closeUnused()
  }

  /** The number of a descriptor that is closed during its sync may be given to another file. */
  #closeUnused(): void {
    if (this.#isClosed && this.#running === 0) closeSync(this.#descriptor)
  }
}
