import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'

/**
 * How many syncs may run at a time. The second one takes what was committed after the first one had begun. With a sync of 5 ms the
 * median of an arrival is a third shorter than with one sync at a time.
 */
export const MAX_SYNCS = 2

/**
 * Whether this process may sync files. The permission model of Node refuses it, whatever files the process may write: a descriptor
 * does not say which file it is.
 */
export function maySyncFiles(): boolean {
  return (process as { readonly permission?: unknown }).permission === undefined
}

/**
 * Syncs the -wal file of an open database while the event loop continues. A sync of the file covers every commit that was written
 * to it before, also by other processes: SQLite itself syncs a log before it begins to write over it.
 */
export class LogSync {
  // Each sync that runs has a descriptor of its own. Linux reports a failed write once to each descriptor: of two syncs with the
  // same one, the second would report success. They are writable, because Windows flushes nothing through a descriptor for
  // reading. SQLite has no locks on this file, which closing a descriptor would release.
  readonly #free: number[] = []
  /** Settles when no sync runs that has begun so far. */
  #latest: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(file: string) {
    try {
      while (this.#free.length < MAX_SYNCS) this.#free.push(openSync(`${file}-wal`, 'r+'))
    } catch (error) {
      this.close()
      throw error
    }
  }

  /**
   * Resolves once everything that was written before the call is on the disk. If it rejects, that may be lost or not. It also
   * rejects if a sync fails that began earlier and has not ended yet, because what that one was to write may be missing. At most
   * `MAX_SYNCS` may not have settled.
   */
  async sync(): Promise<void> {
    const all = this.#after(this.#latest, this.#syncOne())
    this.#latest = all
    try {
      await all
    } catch (error) {
      // What begins after a failure does not fail with it.
      if (this.#latest === all) this.#latest = Promise.resolve()
      throw error
    }
  }

  /** Like `sync`, but blocks the event loop. */
  syncNow(): void {
    // Each of them, because a failure that is known by now would be reported again by those that have not reported it.
    for (const descriptor of this.#free) fdatasyncSync(descriptor)
  }

  close(): void {
    this.#isClosed = true
    this.#closeFree()
  }

  async #after(earlier: Promise<unknown>, own: Promise<void>): Promise<void> {
    for (const end of await Promise.allSettled([earlier, own]))
      if (end.status === 'rejected') throw end.reason
  }

  #syncOne(): Promise<void> {
    const descriptor = this.#free.shift()
    if (descriptor === undefined) return Promise.reject(new Error('too many syncs at a time'))
    return new Promise<void>((resolve, reject) => {
      fdatasync(descriptor, (error) => {
        this.#free.push(descriptor)
        this.#closeFree()
        if (error) reject(error)
        else resolve()
      })
    })
  }

  /** The number of a descriptor that is closed during its sync may be given to another file. */
  #closeFree(): void {
    if (this.#isClosed) for (const descriptor of this.#free.splice(0)) closeSync(descriptor)
  }
}
