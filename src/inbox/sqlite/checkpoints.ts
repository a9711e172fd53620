import { CheckpointThread } from './checkpoint-thread.js'
import type { Connection } from './connection.js'
import { copyLog, logFiles } from './copy-log.js'
import { DATABASE, setDoubt } from './doubt.js'
import type { SqliteDriver } from './driver.js'
import { isBusy } from './inbox-error.js'
import { isSafeSqlite } from './sqlite-version.js'

/**
 * Copies the log of a file into its database, which takes two syncs of the disk, in a thread where there can be one. Commits wait
 * for it: what is copied beside commits is not synced at once, and would be taken to be on the disk if that failed. SQLite must
 * not do it in a commit, because it does not report a failure of that.
 */
export class Checkpoints {
  readonly #driver: SqliteDriver
  readonly #file: string
  readonly #onFailure: (error: unknown) => void
  #thread: CheckpointThread | undefined
  #mayHaveThread = true
  #running: Promise<void> | undefined
  /** How many pages a reader, or what was committed since, has kept from being copied the last time. */
  #heldFrames = 0
  #commits = 0

  constructor(driver: SqliteDriver, file: string, onFailure: (error: unknown) => void) {
    this.#driver = driver
    this.#file = file
    this.#onFailure = onFailure
  }

  /** To be called after each commit: begins to copy when the log is long. */
  committed(connection: Connection): void {
    if (this.#running) return
    // Two connections of a process may not copy the log with an older SQLite, and it cannot say how long the log is.
    const isSafe = isSafeSqlite(connection.sqliteVersion)
    if (!isSafe) {
      if (++this.#commits % COMMITS_OF_OLD_SQLITE === 0) this.#copyHere()
      return
    }
    const frames = connection.uncopiedFrames()
    // Another process has copied them.
    this.#heldFrames = Math.min(this.#heldFrames, frames)
    if (frames - this.#heldFrames < (this.#mayHaveThread ? FRAMES : FRAMES_WITHOUT_THREAD)) return
    const thread = this.#startedThread()
    if (!thread) {
      this.#copyHere()
      this.#heldFrames = connection.uncopiedFrames()
      return
    }
    this.#running = thread
      .run()
      .then(() => {
        this.#heldFrames = connection.uncopiedFrames()
      })
      .catch((error: unknown) => {
        // Whether its syncs succeeded is not known.
        if (thread.hasEnded) setDoubt(this.#file, DATABASE)
        this.#failed(error)
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Resolves when the next transaction may begin. */
  async mayCommit(): Promise<void> {
    await this.#running
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Resolves when nothing is being copied. A file must not be closed before. */
  async idle(): Promise<void> {
    await this.#running
  }

  async close(): Promise<void> {
    await this.#running
    this.#mayHaveThread = false
    await this.#thread?.close()
  }

  #startedThread(): CheckpointThread | undefined {
    if (!this.#mayHaveThread) return undefined
    try {
      this.#thread ??= new CheckpointThread(this.#driver, logFiles(this.#file))
    } catch {
      // Such as with the permission model of Node, or in a bundle in which the driver is not found.
    }
    this.#mayHaveThread = this.#thread !== undefined && !this.#thread.hasEnded
    return this.#mayHaveThread ? this.#thread : undefined
  }

  #copyHere(): void {
    try {
      copyLog(this.#driver, this.#file)
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    // The next commits try again.
    if (!isBusy(error)) this.#onFailure(error)
  }
}

/**
 * How long the log becomes before it is copied, in pages. At 400 callbacks a second commits waited 2 percent of the time with
 * 1,000 pages, which delays more than each hundredth answer, and 1 percent with 4,000. With 8,000 the copying of a busy log takes so
 * long that the 99th percentile is twice as long.
 */
const FRAMES = 4_000
/** The same if there is no thread: the event loop waits, so less is copied each time. Also the default of SQLite. */
const FRAMES_WITHOUT_THREAD = 1_000
/** After how many commits an older SQLite copies it. */
const COMMITS_OF_OLD_SQLITE = 250
