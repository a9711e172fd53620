import { CheckpointThread } from './checkpoint-thread.js'
import type { Connection } from './connection.js'
import type { SqliteDriver } from './driver.js'

/**
 * Copies the log of a file into its database, which takes two syncs of the disk, without blocking the event loop. The first part
 * is copied while commits continue. For the rest, which is short, the commits wait: the log can begin anew only when it has been
 * copied completely.
 */
export class Checkpoints {
  readonly #driver: SqliteDriver
  readonly #file: string
  #thread: CheckpointThread | undefined
  #isPossible = true
  #running: Promise<void> | undefined
  #restIsNext = false
  #commitsWait = false
  /** How long the log was after it was copied the last time, in pages: a reader may have kept it from beginning anew. */
  #copiedFrames = 0

  constructor(driver: SqliteDriver, file: string) {
    this.#driver = driver
    this.#file = file
  }

  /** To be called when the file was opened. */
  opened(connection: Connection): void {
    connection.checkpointAt(this.#isPossible ? FRAMES_BESIDE_THREAD : FRAMES_WITHOUT_THREAD)
  }

  /** To be called after each commit: begins to copy when the log is long. */
  committed(connection: Connection): void {
    if (this.#running || !this.#isPossible) return
    const frames = connection.logFrames()
    // Another process has let it begin anew.
    if (frames < this.#copiedFrames) this.#copiedFrames = 0
    const isLong = frames - this.#copiedFrames >= FRAMES
    this.#commitsWait = isLong && this.#restIsNext
    this.#restIsNext = isLong && !this.#restIsNext
    if (!isLong) return
    this.#running = this.#run(connection).finally(() => {
      this.#running = undefined
      this.#commitsWait = false
    })
  }

  /** Resolves when the next transaction may begin. */
  async mayCommit(): Promise<void> {
    if (this.#commitsWait) await this.#running
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
    this.#isPossible = false
    await this.#thread?.close()
  }

  async #run(connection: Connection): Promise<void> {
    try {
      this.#thread ??= new CheckpointThread(this.#driver, this.#file)
      await this.#thread.run(this.#commitsWait ? 'RESTART' : 'PASSIVE')
      if (this.#commitsWait) this.#copiedFrames = connection.logFrames()
    } catch {
      // Another process may have locked the file, and the next commits try again. If that continues, or without a thread, SQLite
      // does it in a commit.
      if (!this.#thread || this.#thread.hasEnded) {
        this.#isPossible = false
        connection.checkpointAt(FRAMES_WITHOUT_THREAD)
      }
    }
  }
}

/**
 * How long the log becomes before it is copied, in pages. At 400 callbacks a second commits waited 2 percent of the time with
 * 1,000 pages, which delays more than each hundredth answer, and 1 percent with 4,000. With 8,000 the copying of a busy log takes so
 * long that the 99th percentile is twice as long.
 */
const FRAMES = 4_000
/** How long it becomes before SQLite copies it in a commit although there is a thread. */
const FRAMES_BESIDE_THREAD = 16_000
/** The same if there is no thread: the event loop waits, so less is copied each time. Also the default of SQLite. */
const FRAMES_WITHOUT_THREAD = 1_000
