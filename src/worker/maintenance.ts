import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Handlers } from '../handlers/handlers.js'
import { withTimeout } from '../base/timeout.js'
import type { Logger } from '../logging/logger.js'
import type { Inbox } from '../inbox/inbox.js'
import { PRUNABLE } from '../inbox/states.js'

export interface MaintenanceParts {
  readonly inbox: Inbox
  readonly handlers: Handlers
  readonly leaseMs: number
  readonly pollMs: number
  readonly clock: () => number
  readonly logger: Logger
  /** Called when entries became due that nobody else announces. */
  readonly onRequeued: () => void
}

const EVERY_MS = 60_000
const PRUNE_STEP = 200

/** What has to be done now and then: give unhandled entries to a handler that is there now, and delete what is old. */
export class Maintenance {
  readonly #parts: MaintenanceParts
  #timer: NodeJS.Timeout | undefined
  #requeueTimer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #requeueing: Promise<void> | undefined
  #stopping = false

  constructor(parts: MaintenanceParts) {
    this.#parts = parts
  }

  /** Begins at once: a process that never lives for a minute must not leave everything to grow. */
  start(): void {
    this.#timer = setInterval(() => this.#begin(), EVERY_MS).unref()
    // Sooner than the rest: what another process stores as unhandled holds up all that share its order key.
    const requeueEveryMs = Math.min(this.#parts.pollMs, EVERY_MS)
    this.#requeueTimer = setInterval(() => this.#beginRequeueing(), requeueEveryMs).unref()
    this.#begin()
  }

  /** Resolves once the step that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#timer)
    clearInterval(this.#requeueTimer)
    await Promise.all([this.#round, this.#requeueing])
  }

  #begin(): void {
    this.#round ??= this.#maintain().finally(() => (this.#round = undefined))
  }

  #beginRequeueing(): void {
    // A failure is logged by the worker, which claims as often from the same inbox.
    this.#requeueing ??= this.#requeueUnhandled()
      .catch(() => {})
      .finally(() => (this.#requeueing = undefined))
  }

  async #maintain(): Promise<void> {
    try {
      await this.#requeueUnhandled()
      await this.#markUnhandled()
      await this.#prune()
    } catch (error) {
      const fields = { code: 'ERR_INBOX_UNAVAILABLE', err: error }
      this.#parts.logger.warn(fields, 'old and unhandled entries could not be seen to')
    }
  }

  // Not only at the start: a process that has no such handler yet may go on storing during a rolling update.
  async #requeueUnhandled(): Promise<void> {
    const { inbox, handlers, leaseMs, logger, onRequeued } = this.#parts
    const requeued = await withTimeout(inbox.requeueUnhandled(handlers.types), leaseMs, 'the inbox')
    if (requeued === 0) return
    logger.info({ requeued }, 'entries that had no handler have one now')
    onRequeued()
  }

  // An operator's command does not know which types have handlers.
  async #markUnhandled(): Promise<void> {
    const { inbox, handlers, leaseMs, clock, logger } = this.#parts
    const dueBefore = clock() - EVERY_MS
    const count = await withTimeout(inbox.markUnhandled(handlers.types, dueBefore), leaseMs, 'the inbox')
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
