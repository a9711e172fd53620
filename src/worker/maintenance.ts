import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Handlers } from '../handlers/handlers.js'
import { withTimeout } from '../base/timeout.js'
import type { Logger } from '../logging/logger.js'
import type { Inbox } from '../inbox/inbox.js'
import { PRUNABLE } from '../inbox/states.js'

export interface HousekeepingParts {
  readonly inbox: Inbox
  readonly handlers: Handlers
  readonly leaseMs: number
  readonly pollMs: number
  readonly clock: () => number
  readonly logger: Logger
  /** Called when entries became due that nobody else announces. */
  readonly onAdopted: () => void
}

const EVERY_MS = 60_000
const PRUNE_STEP = 200

/** What has to be done now and then: give unhandled entries to a handler that is there now, and delete what is old. */
export class Housekeeping {
  readonly #parts: HousekeepingParts
  #timer: NodeJS.Timeout | undefined
  #adoptTimer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #adopting: Promise<void> | undefined
  #stopping = false

  constructor(parts: HousekeepingParts) {
    this.#parts = parts
  }

  /** Begins at once: a process that never lives for a minute must not leave everything to grow. */
  start(): void {
    this.#timer = setInterval(() => this.#begin(), EVERY_MS).unref()
    // Sooner than the rest: what another process stores as unhandled holds up all that share its order key.
    const adoptEveryMs = Math.min(this.#parts.pollMs, EVERY_MS)
    this.#adoptTimer = setInterval(() => this.#beginAdopting(), adoptEveryMs).unref()
    this.#begin()
  }

  /** Resolves once the step that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#timer)
    clearInterval(this.#adoptTimer)
    await Promise.all([this.#round, this.#adopting])
  }

  #begin(): void {
    this.#round ??= this.#keepHouse().finally(() => (this.#round = undefined))
  }

  #beginAdopting(): void {
    // A failure is logged by the worker, which claims as often from the same inbox.
    this.#adopting ??= this.#adopt()
      .catch(() => {})
      .finally(() => (this.#adopting = undefined))
  }

  async #keepHouse(): Promise<void> {
    try {
      await this.#adopt()
      await this.#setAside()
      await this.#prune()
    } catch (error) {
      const fields = { code: 'ERR_INBOX_UNAVAILABLE', err: error }
      this.#parts.logger.warn(fields, 'old and unhandled entries could not be seen to')
    }
  }

  // Not only at the start: a process that has no such handler yet may go on storing during a rolling update.
  async #adopt(): Promise<void> {
    const { inbox, handlers, leaseMs, logger, onAdopted } = this.#parts
    const adopted = await withTimeout(inbox.adopt(handlers.types), leaseMs, 'the inbox')
    if (adopted === 0) return
    logger.info({ adopted }, 'entries that had no handler have one now')
    onAdopted()
  }

  // An operator's command does not know which types have handlers.
  async #setAside(): Promise<void> {
    const { inbox, handlers, leaseMs, clock, logger } = this.#parts
    const dueBefore = clock() - EVERY_MS
    const count = await withTimeout(inbox.setAside(handlers.types, dueBefore), leaseMs, 'the inbox')
    if (count === 0) return
    const message =
      'entries that were retried or released have no handler: they are unhandled until there is one'
    logger.warn({ code: 'ERR_HANDLER_MISSING', entries: count }, message)
  }

  /** Step by step, so that nobody waits for it: there may be a million entries to delete. */
  async #prune(): Promise<void> {
    const { inbox, leaseMs, clock } = this.#parts
    for (const state of PRUNABLE) {
      const keptMs = state === 'handled' ? inbox.retentionMs : inbox.discardedRetentionMs
      let pruned = PRUNE_STEP
      while (pruned === PRUNE_STEP && !this.#stopping) {
        pruned = await withTimeout(inbox.prune(state, clock() - keptMs, PRUNE_STEP), leaseMs, 'the inbox')
        await nextTurn()
      }
    }
  }
}
