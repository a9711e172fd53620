import type { VerifiedCallback } from '../callback.js'
import type { Dispatcher, Failure } from '../dispatch/dispatcher.js'
import type { Handlers } from '../dispatch/handlers.js'
import { inTime } from '../in-time.js'
import { errorFields, type Logger } from '../logger.js'
import { parsePayload } from '../payload.js'
import { backoff, type Backoff } from './backoff.js'
import { forbidsRetry } from './do-not-retry.js'
import type { ClaimedEntry, ClaimEnd, Inbox } from './inbox.js'
import { PRUNABLE } from './states.js'

export interface WorkerOptions extends Backoff {
  readonly inbox: Inbox
  readonly handlers: Handlers
  readonly dispatcher: Dispatcher
  /** How many entries are handled at a time. */
  readonly concurrency: number
  /** An entry that has failed so often becomes a dead letter. */
  readonly maxAttempts: number
  readonly leaseMs: number
  /** How often to look for what other processes have stored and for what is due again, in milliseconds. */
  readonly pollMs: number
  readonly clock: () => number
  readonly logger: Logger
  readonly onFailure: (failure: Failure, callback: VerifiedCallback) => void
}

/** An entry in the worker's hands. */
interface Run {
  readonly entry: ClaimedEntry
  readonly controller: AbortController
  /** Whether its lease is renewed: not once its time is up, and not while it is being finished. */
  renewed: boolean
  lost: boolean
}

const PRUNE_EVERY_MS = 60_000
const PRUNE_STEP = 200

/** Empties the inbox: claims entries, runs their handlers, and completes, reschedules or gives them up. */
export class Worker {
  readonly #options: WorkerOptions
  readonly #running = new Map<Run, Promise<void>>()
  #loop: Promise<void> | undefined
  #stopped: Promise<void> | undefined
  #timers: NodeJS.Timeout[] = []
  #awake = false
  #wakeUp = (): void => {}

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  /** Safe to call twice. */
  start(): void {
    if (this.#loop) return
    const { leaseMs } = this.#options
    this.#timers = [
      setInterval(() => void this.#renewLeases(), leaseMs / 3),
      setInterval(() => void this.#prune(), PRUNE_EVERY_MS).unref(),
    ]
    this.#loop = this.#work()
  }

  /** To be called when something was stored. */
  wake(): void {
    this.#awake = true
    this.#wakeUp()
  }

  /**
   * Claims nothing more, and resolves once what runs has ended. After `limitMs` the handlers' signals are aborted; those
   * that do not listen are left behind, and their leases run out. Safe to call twice.
   */
  stop(limitMs: number): Promise<void> {
    return (this.#stopped ??= this.#drain(limitMs))
  }

  async #work(): Promise<void> {
    const { inbox, handlers, concurrency, leaseMs, pollMs, logger } = this.#options
    while (!this.#stopped) {
      const limit = concurrency - this.#running.size
      let claimed: ClaimedEntry[] = []
      try {
        if (limit > 0) claimed = await inbox.claim({ eventTypes: handlers.types, limit, leaseMs })
      } catch (error) {
        logger.error(
          { code: 'ERR_INBOX_UNAVAILABLE', err: errorFields(error) },
          'the worker could not claim entries',
        )
      }
      for (const entry of claimed) this.#begin(entry)
      if (claimed.length < limit || limit <= 0) await this.#pause(pollMs)
    }
  }

  #begin(entry: ClaimedEntry): void {
    const run: Run = { entry, controller: new AbortController(), renewed: true, lost: false }
    const done = this.#run(run).finally(() => {
      this.#running.delete(run)
      this.wake()
    })
    this.#running.set(run, done)
  }

  async #run(run: Run): Promise<void> {
    const { logger, clock } = this.#options
    const { id, attempt, callback } = run.entry
    const fields = { entry: id, idempotencyKey: callback.idempotencyKey, eventType: callback.type, attempt }
    const startedAt = clock()
    const { end, failure } = await this.#handle(run)
    run.renewed = false
    const ended = !run.lost && (await this.#finish(run, end))
    const line = {
      ...fields,
      move: end.move,
      durationMs: clock() - startedAt,
      err: failure && errorFields(failure.error),
    }
    if (!ended)
      logger.warn({ ...line, code: 'WARN_LEASE_LOST' }, 'a lease was lost: the entry is somebody else’s')
    else if (end.move === 'complete') logger.info(line, 'entry handled')
    else if (end.move === 'reschedule')
      logger.warn({ ...line, delayMs: end.delayMs }, 'entry failed, to be retried')
    else if (end.move === 'giveUp') logger.error(line, 'entry is a dead letter')
    else logger.warn(line, 'entry has no handler')
  }

  async #handle(run: Run): Promise<{ end: ClaimEnd; failure?: Failure }> {
    const { handlers, dispatcher, maxAttempts, leaseMs, onFailure } = this.#options
    const { callback, attempt, replayed } = run.entry
    if (handlers.for(callback.type).length === 0) return { end: { move: 'setAside' } }
    // It has never failed; its process did not live to say so. What kills its process must not do so for ever.
    if (attempt > maxAttempts)
      return { end: { move: 'giveUp', error: 'every attempt ended with its process' } }
    const payload = parsePayload(callback.rawBody)
    if (!payload) return { end: { move: 'giveUp', error: 'the body is no JSON object' } }

    const { result, settled } = dispatcher.dispatch(
      { ...callback, payload, replayed },
      attempt,
      run.controller.signal,
    )
    const failure = await result
    if (!failure) return { end: { move: 'complete' } }
    if (failure.code === 'ERR_HANDLER_TIMEOUT') {
      // Not retried while it may still be running, at most until its lease is over.
      run.renewed = false
      await inTime(settled, leaseMs, 'an aborted handler').catch(() => {})
    }
    onFailure(failure, callback)
    const error = describe(failure.error)
    const isFinal =
      attempt >= maxAttempts || failure.code === 'ERR_PAYLOAD_INVALID' || forbidsRetry(failure.error)
    if (isFinal) return { end: { move: 'giveUp', error }, failure }
    return { end: { move: 'reschedule', delayMs: backoff(attempt, this.#options), error }, failure }
  }

  /** Tries for as long as the lease may last: what was handled and could not be recorded is handled again. */
  async #finish({ entry }: Run, end: ClaimEnd): Promise<boolean> {
    const { inbox, leaseMs, pollMs, clock, logger } = this.#options
    const giveUpAt = clock() + leaseMs
    for (;;) {
      try {
        return await inbox.finish(entry, end)
      } catch (error) {
        const fields = { code: 'ERR_INBOX_UNAVAILABLE', entry: entry.id, err: errorFields(error) }
        logger.error(fields, 'the end of an entry could not be recorded')
        if (clock() >= giveUpAt) return false
        await new Promise((resolve) => setTimeout(resolve, Math.min(pollMs, leaseMs)))
      }
    }
  }

  async #renewLeases(): Promise<void> {
    const { inbox, leaseMs, logger } = this.#options
    const runs = [...this.#running.keys()].filter(({ renewed }) => renewed)
    if (runs.length === 0) return
    try {
      const held = await inbox.extend(
        runs.map(({ entry }) => entry),
        leaseMs,
      )
      for (const run of runs) {
        if (held.has(run.entry.id) || !run.renewed) continue
        run.lost = true
        run.controller.abort(new Error('the lease of this entry was lost: somebody else handles it'))
      }
    } catch (error) {
      logger.error({ code: 'ERR_INBOX_UNAVAILABLE', err: errorFields(error) }, 'leases could not be renewed')
    }
  }

  /** Step by step, so that nobody waits for it: a busy inbox may have a million entries to delete. */
  async #prune(): Promise<void> {
    const { inbox, clock, logger } = this.#options
    try {
      for (const state of PRUNABLE) {
        const keptMs = state === 'handled' ? inbox.retentionMs : inbox.discardedRetentionMs
        while (!this.#stopped && (await inbox.prune(state, clock() - keptMs, PRUNE_STEP)) === PRUNE_STEP);
      }
    } catch (error) {
      logger.warn(
        { code: 'ERR_INBOX_UNAVAILABLE', err: errorFields(error) },
        'old entries could not be deleted',
      )
    }
  }

  async #drain(limitMs: number): Promise<void> {
    this.wake()
    await this.#loop
    const ended = Promise.all(this.#running.values())
    const inTimeEnded = await inTime(ended, limitMs, 'running handlers').then(
      () => true,
      () => false,
    )
    if (!inTimeEnded) {
      this.#options.logger.warn(
        { code: 'WARN_STOP_TIMEOUT' },
        'handlers are still running: their signals are aborted',
      )
      for (const { controller } of this.#running.keys())
        controller.abort(new Error('the receiver is stopping'))
      await inTime(ended, ABORT_GRACE_MS, 'aborted handlers').catch(() => {})
    }
    for (const timer of this.#timers) clearInterval(timer)
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#awake || this.#stopped) return resume.call(this)
      const timer = setTimeout(() => resume.call(this), ms)
      this.#wakeUp = () => {
        clearTimeout(timer)
        resume.call(this)
      }
      function resume(this: Worker): void {
        this.#awake = false
        this.#wakeUp = () => {}
        resolve()
      }
    })
  }
}

/** How long aborted handlers are given to say so. */
const ABORT_GRACE_MS = 1_000

// For the entry's record and the operator's eyes: short, and nothing but the message.
function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 500) : 'a handler threw no Error'
}
