import type { Connection } from './connection.js'
import type { Mark } from './marks.js'
import { isSafeSqlite } from './sqlite-version.js'

/**
 * Copies the log into the database. SQLite must not do that in a commit, because it does not report a failure of it. A checkpoint
 * that leaves pages is not synced: if they were lost, the next one would not copy them again. So it is marked until all pages
 * were copied.
 */
export class Checkpoints {
  readonly #connection: Connection
  readonly #mark: Mark
  /** How many pages a reader, or what another process has committed, has kept from being copied. */
  #heldFrames = 0
  #commits = 0

  constructor(connection: Connection, mark: Mark) {
    this.#connection = connection
    this.#mark = mark
  }

  /** To be called after commits: copies a long log. Throws what SQLite throws, after which the inbox is in doubt unless it is busy. */
  afterCommit(): void {
    if (!isSafeSqlite(this.#connection.sqliteVersion)) {
      // It cannot say how long the log is.
      if (++this.#commits % COMMITS_OF_OLD_SQLITE === 0) this.#run('FULL')
      return
    }
    const frames = this.#connection.uncopiedFrames()
    // Another process has copied them.
    this.#heldFrames = Math.min(this.#heldFrames, frames)
    if (frames - this.#heldFrames < FRAMES) return
    this.#run('PASSIVE')
    // While two processes write all the time, the log would not begin anew.
    this.complete()
    this.#heldFrames = this.#connection.uncopiedFrames()
  }

  /** To be called from time to time: completes what readers or other processes have kept from being copied. Others wait for it. */
  complete(): void {
    if (this.#mark.isSet) this.#run('FULL')
  }

  /** Copies all, and empties the log if nobody else uses it. */
  last(): void {
    this.#run('TRUNCATE')
    // Whoever reads what was committed last keeps the log from beginning anew, and not from being copied.
    this.complete()
  }

  #run(mode: 'PASSIVE' | 'FULL' | 'TRUNCATE'): void {
    this.#mark.set()
    const { busy, log, checkpointed } = this.#connection.get<CheckpointRow>(`PRAGMA wal_checkpoint(${mode})`)!
    if (busy !== 0 || log !== checkpointed) return
    // The row says nothing of what another process has committed meanwhile, for which SQLite leaves the sync to the next checkpoint.
    if (mode === 'PASSIVE' && this.#connection.uncopiedFrames() > 0) return
    this.#mark.clear()
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
