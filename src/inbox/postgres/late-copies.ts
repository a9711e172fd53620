import { clearTimeout, setTimeout } from 'node:timers'
import { countLateCopies, type Copies } from './copies.js'
import type { InboxDatabase } from './inbox-database.js'

/** Counts the copies of entries that were locked when they arrived. A process that is killed before has not counted them. */
export class LateCopies {
  readonly #database: InboxDatabase
  readonly #waiting = new Map<string, Copies>()
  #counting: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(database: InboxDatabase) {
    this.#database = database
  }

  /** Resolves after some tries at once: most locks are those of other copies, and are held for some milliseconds. */
  async count(copies: readonly Copies[]): Promise<void> {
    for (const each of copies) this.#wait(each)
    for (let tries = 0; tries < TRIES_AT_ONCE && this.#waiting.size > 0; tries++) await this.#tryAll()
    this.#tryLater(FIRST_DELAY_MS)
  }

  /** Tries for the last time. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    await this.#counting
    if (this.#waiting.size > 0) await this.#tryAll()
  }

  #tryLater(delayMs: number): void {
    if (this.#waiting.size === 0 || this.#retry !== undefined || this.#isClosed) return
    this.#retry = setTimeout(() => {
      void this.#tryAll().then(() => {
        this.#retry = undefined
        this.#tryLater(Math.min(2 * delayMs, LONGEST_DELAY_MS))
      })
    }, delayMs).unref()
  }

  #tryAll(): Promise<void> {
    return (this.#counting ??= this.#countWaiting().finally(() => (this.#counting = undefined)))
  }

  async #countWaiting(): Promise<void> {
    const copies = [...this.#waiting.values()]
    this.#waiting.clear()
    // After an error they may have been counted. One more is better than none.
    const left = await this.#database.commit((tx) => countLateCopies(tx, copies)).catch(() => copies)
    for (const each of left) this.#wait(each)
  }

  #wait({ entryId, number, isSignedAnew }: Copies): void {
    const waiting = this.#waiting.get(entryId)
    this.#waiting.set(entryId, {
      entryId,
      number: number + (waiting?.number ?? 0),
      isSignedAnew: isSignedAnew || waiting?.isSignedAnew === true,
    })
  }
}

const TRIES_AT_ONCE = 5
const FIRST_DELAY_MS = 50
const LONGEST_DELAY_MS = 2_000
