import type { Connection } from './connection.js'
import { isSafeSqlite } from './sqlite-version.js'
import type { WriteLock } from './write-lock.js'

/**
 * Copies the log into the database. SQLite must not do that in a commit, because it does not report a failure of it. Nobody commits
 * meanwhile: SQLite does not sync the database if the log has grown, and the next checkpoint would not copy the same pages again.
 */
export class Checkpoints {
  readonly #connection: Connection
  readonly #lock: WriteLock
  /** How many pages a reader has kept from being copied. */
  #heldFrames = 0
  #commits = 0

  constructor(connection: Connection, lock: WriteLock) {
    this.#connection = connection
    this.#lock = lock
  }

  /** To be called after commits: copies a long log. Throws what SQLite throws, after which the inbox is in doubt unless it is busy. */
  afterCommit(): void {
    if (!isSafeSqlite(this.#connection.sqliteVersion)) {
      // It cannot say how long the log is.
      if (++this.#commits % COMMITS_OF_OLD_SQLITE === 0) this.#copy()
      return
    }
    const frames = this.#connection.uncopiedFrames()
    // Another process has copied them.
    this.#heldFrames = Math.min(this.#heldFrames, frames)
    if (frames - this.#heldFrames < FRAMES) return
    this.#copy()
    this.#heldFrames = this.#connection.uncopiedFrames()
  }

  /** To be called from time to time: looks after a process that has died while it wrote, and copies what readers have kept from that. */
  complete(): void {
    if (this.#lock.isMarked) this.#connection.transaction(() => {})
    if (this.#lock.databaseLacks) this.#copy()
  }

  /** Copies all, and empties the log if nobody else uses it. Then calls `whenCopied`, unless a reader keeps a part from being copied. */
  last(whenCopied = () => {}): void {
    this.#lock.writeDatabase(() => {
      // Whoever reads what was committed last keeps the log from beginning anew, and not from being copied.
      if (!this.#copied('TRUNCATE') && !this.#copied('FULL')) return false
      whenCopied()
      return true
    })
  }

  #copy(): void {
    this.#lock.writeDatabase(() => this.#copied('FULL'))
  }

  #copied(mode: 'FULL' | 'TRUNCATE'): boolean {
    const { busy, log, checkpointed } = this.#connection.get<CheckpointRow>(`PRAGMA wal_checkpoint(${mode})`)!
    return busy === 0 && log === checkpointed
  }
}

interface CheckpointRow {
  /** 1 if it was not completed, because others use the log. */
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

/**
 * How long the log becomes before it is copied, in pages. At 400 callbacks a second commits waited 2 percent of the time with
 * 1,000 pages, which delays more than each hundredth answer, and 1 percent with 4,000. With 8,000 the copying of a busy log takes so
 * long that the 99th percentile is twice as long.
 */
const FRAMES = 4_000
/** After how many commits an older SQLite copies it. */
const COMMITS_OF_OLD_SQLITE = 250
