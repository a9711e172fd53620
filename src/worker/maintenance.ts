import { every } from '../base/environment.js'
import { nextTick } from '../base/next-tick.js'
import { withTimeout } from '../base/timeout.js'
import { PRUNABLE } from '../inbox/states.js'
import type { WorkerParts } from './worker-parts.js'

type MaintenanceParts = Pick<WorkerParts, 'inbox' | 'leaseMs' | 'logger' | 'environment'>

const EVERY_MS = 60_000
const PRUNE_STEP = 200

/** Once a minute: warns of entries that no worker has a handler for, and deletes old entries. */
export class Maintenance {
  readonly #parts: MaintenanceParts
  #endTimer = (): void => {}
  #round: Promise<void> | undefined
  #stopping = false

  constructor(parts: MaintenanceParts) {
    this.#parts = parts
  }

  start(): void {
    const { environment } = this.#parts
    this.#endTimer = every(environment, EVERY_MS, () => this.#begin(true), { keepsAlive: false })
    // Deletes immediately: old entries must be deleted even if no process runs for a minute. The warning has to wait until the
    // workers of a new deployment have claimed: until then the inbox knows the types of the old one.
    this.#begin(false)
  }

  /** Resolves once the current step has ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#endTimer()
    await this.#round
  }

  #begin(warns: boolean): void {
    this.#round ??= this.#maintain(warns).finally(() => (this.#round = undefined))
  }

  async #maintain(warns: boolean): Promise<void> {
    if (warns) await this.#attempt(() => this.#warnOfUnhandled())
    // Old entries are deleted even if the entries could not be counted in time. Otherwise they would never become fewer.
    await this.#attempt(() => this.#prune())
  }

  async #attempt(task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      const fields = { code: 'ERR_INBOX_UNAVAILABLE', err: error }
      this.#parts.logger.warn(fields, 'the inbox could not be maintained: the next attempt is in a minute')
    }
  }

  async #warnOfUnhandled(): Promise<void> {
    const { inbox, leaseMs, logger, environment } = this.#parts
    // `stats` counts all entries, which takes seconds if there are millions. This examines only those that wait.
    const waiting = inbox.count({ states: ['unhandled'] }, 0)
    if (!(await withTimeout(waiting, leaseMs, 'the inbox', { environment })).more) return
    const { counts } = await withTimeout(inbox.stats(), leaseMs, 'the inbox', { environment })
    if (counts.unhandled === 0) return
    const message = 'no worker has a handler for the event types of these entries: they wait until one has'
    logger.warn({ code: 'ERR_HANDLER_MISSING', entries: counts.unhandled }, message)
  }

  /** In small steps, so that other calls of the inbox do not wait: there may be a million entries to delete. */
  async #prune(): Promise<void> {
    const { inbox, leaseMs, environment } = this.#parts
    for (const state of PRUNABLE) {
      let pruned = PRUNE_STEP
      while (pruned === PRUNE_STEP && !this.#stopping) {
        const pruning = inbox.prune({ state, limit: PRUNE_STEP })
        pruned = await withTimeout(pruning, leaseMs, 'the inbox', { environment })
        await nextTick(environment)
      }
    }
  }
}
