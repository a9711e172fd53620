import type { Dispatcher, Failure } from '../handlers/dispatcher.js'
import { endOrAbort } from '../handlers/end-or-abort.js'
import type { EventChannel } from '../events/event-channel.js'
import type { AttemptEvent } from '../events/lifecycle-events.js'
import type { Handlers } from '../handlers/handlers.js'
import { withTimeout } from '../base/timeout.js'
import type { KnownSecrets } from '../logging/known-secrets.js'
import { errorText } from '../logging/logged-error.js'
import type { Logger } from '../logging/logger.js'
import type { CallbackEvent, EntryId } from '../callback/callback.js'
import { parsePayload } from '../callback/payload.js'
import { attemptFields, logAttempts } from './attempt-log.js'
import { backoff } from './backoff.js'
import { Claimer } from './claimer.js'
import { dispatchInTransaction, type TransactionalDispatch } from './dispatch-in-transaction.js'
import { forbidsRetry } from '../handlers/do-not-retry.js'
import { Maintenance } from './maintenance.js'
import type { EmptyingSettings } from './worker-options.js'
import { inOneCall, SAME_STEP, SAME_TICK } from './one-call.js'
import type { ClaimedEntry, ClaimEnd, ClaimToken, Inbox, SettledClaim } from '../inbox/inbox.js'

export interface WorkerParts extends EmptyingSettings {
  readonly inbox: Inbox
  readonly handlers: Handlers
  readonly dispatcher: Dispatcher
  readonly leaseMs: number
  readonly clock: () => number
  readonly logger: Logger
  /** Removed from the reason that is stored with an entry. */
  readonly secrets: KnownSecrets
  readonly events: EventChannel
}

/** An entry that the worker handles. */
interface Run {
  /** The current claim. It is not the first one if that was lost and the entry was claimed again. */
  entry: ClaimedEntry
  /** By the monotonic clock of this process; not later than by the clock of the inbox. */
  leaseEndsAt: number
  lost: boolean
  /** When its handlers began, by the same clock. */
  begunAt: number
  readonly controller: AbortController
  /** Resolves once the end of the handlers has been recorded. */
  done: Promise<void>
}

/** Why an attempt ended without success, when no handler was called: a row of the table of outcomes. */
type NotCalled = 'ERR_BODY_NOT_JSON' | 'ERR_CLAIM_LOST' | 'ERR_INBOX_UNAVAILABLE'

interface AttemptFailure {
  readonly code: Failure['code'] | NotCalled
  readonly error: unknown
}

interface AttemptEnd {
  readonly end: ClaimEnd
  readonly failure?: AttemptFailure | undefined
  /** Set where the end has been recorded, or the claim was found to be lost, in the handler's transaction. */
  readonly transaction?: 'committed' | 'lost'
}

/** The longest pause before a failed call for an entry is repeated, in milliseconds; `pollMs` if that is shorter. */
const TRY_AGAIN_MS = 1_000
/** How long a transaction may take to begin and to commit, in milliseconds, in addition to the handlers. */
const COMMIT_LIMIT_MS = 5_000
/** How much of an error is stored with its entry, in characters. */
const MAX_REASON_LENGTH = 500

/** Empties the inbox: claims entries, runs their handlers, and records how each attempt ended. */
export class Worker {
  readonly #options: WorkerParts
  readonly #maintenance: Maintenance
  /** By the id of the entry. */
  readonly #running = new Map<EntryId, Run>()
  readonly #claimer: Claimer
  readonly #recordBegin: (claim: ClaimToken) => Promise<ReadonlySet<EntryId>>
  readonly #settle: (end: SettledClaim) => Promise<ReadonlySet<EntryId>>
  #endWatch: (() => void) | undefined
  #loop: Promise<void> | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #stopped: Promise<void> | undefined
  /** Whether handlers have been aborted: no more handlers are started. */
  #aborted = false
  /** Whether the stop has ended and the inbox is closed: no more ends are recorded. */
  #left = false
  #awake = false
  #wakeUp = (): void => {}

  constructor(options: WorkerParts) {
    this.#options = options
    logAttempts(options.events, options.logger)
    this.#claimer = new Claimer(options)
    this.#maintenance = new Maintenance(options)
    const { inbox, leaseMs } = options
    this.#recordBegin = inOneCall(SAME_STEP, async (claims) => inbox.begin(claims, leaseMs))
    this.#settle = inOneCall(SAME_TICK, async (ends) => inbox.settle(ends))
  }

  /** Safe to call twice; without effect once stopped. */
  start(): void {
    if (this.#loop || this.#stopped) return
    this.#heartbeat = setInterval(() => void this.#renewLeases(), this.#options.leaseMs / 3)
    this.#endWatch = this.#options.inbox.watch?.(() => this.wake())
    this.#loop = this.#work()
    this.#maintenance.start()
  }

  /** To be called when an entry may have become due. */
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
    while (!this.#stopped) {
      this.#awake = false
      const { entries, leaseEndsAt, waitMs } = await this.#claimer.claim(this.#running.size)
      if (this.#aborted) this.#claimer.handBack(entries)
      else for (const entry of entries) this.#take(entry, leaseEndsAt)
      if (waitMs > 0) await this.#pause(waitMs)
    }
  }

  #take(entry: ClaimedEntry, leaseEndsAt: number): void {
    const held = this.#running.get(entry.id)
    if (held) {
      // Its lease ran out here without anybody else taking it. What runs for it goes on: nothing may run twice at once,
      // and what was handled while the inbox was out of reach need not be handled again.
      Object.assign(held, { entry, leaseEndsAt, lost: false })
      return
    }
    const controller = new AbortController()
    const run: Run = { entry, leaseEndsAt, lost: false, begunAt: 0, controller, done: Promise.resolve() }
    this.#running.set(entry.id, run)
    const { events } = this.#options
    const { id, callback, attempt } = entry
    if (events.has('claimed')) events.publish('claimed', { entry: id, callback, attempt })
    run.done = this.#run(run)
      .catch((error: unknown) => {
        const fields = { code: 'ERR_INTERNAL', entry: entry.id, err: error }
        this.#options.logger.error(
          fields,
          'an internal error ended the run of an entry: it is claimed again when its lease has ended',
        )
      })
      .finally(() => {
        this.#running.delete(entry.id)
        this.wake()
      })
  }

  async #run(run: Run): Promise<void> {
    const startedAt = performance.now()
    const attemptEnd = await this.#handle(run)
    const isRecorded = await this.#isRecorded(run, attemptEnd)
    const { id: entry, attempt, callback } = run.entry
    const what = { entry, callback, attempt, durationMs: performance.now() - startedAt }
    if (isRecorded) this.#publish(attemptEnd, what)
    else if (this.#options.events.has('leaseLost'))
      this.#options.events.publish('leaseLost', { ...what, error: attemptEnd.failure?.error })
  }

  async #isRecorded(run: Run, { end, transaction }: AttemptEnd): Promise<boolean> {
    if (transaction !== undefined) return transaction === 'committed'
    return !run.lost && (await this.#recordEnd(run, end))
  }

  async #handle(run: Run): Promise<AttemptEnd> {
    const { handlers, dispatcher, maxAttempts, leaseMs, secrets } = this.#options
    const { entry } = run
    const { callback, attempt, replayed } = entry
    if (handlers.for(callback.type).length === 0) {
      // The inbox gave an entry of a type that was not requested. Without handlers it would count as handled.
      await this.#beforeNextTry()
      return { end: { move: 'handBack' } }
    }
    // The last attempt ended without a record. An entry that kills its process must not be tried for ever.
    if (attempt > maxAttempts) {
      const tried = `tried ${attempt - 1} times, and maxAttempts is ${maxAttempts}`
      return {
        end: { move: 'deadLetter', error: `${tried}: the last time left no error, as when the process dies` },
        failure: { code: 'ERR_CLAIM_LOST', error: undefined },
      }
    }
    const payload = parsePayload(callback.rawBody)
    if (!payload) {
      return {
        end: { move: 'deadLetter', error: 'the body is no JSON object' },
        failure: { code: 'ERR_BODY_NOT_JSON', error: undefined },
      }
    }
    if (!(await this.#begin(run))) return { end: { move: 'handBack' } }
    const event = { ...callback, payload, replayed }
    const { result, settled } = handlers.isTransactional(callback.type)
      ? this.#dispatchInTransaction(run, event)
      : dispatcher.dispatch(event, attempt, run.controller.signal)
    const failure = await result
    if (failure === undefined) return { end: { move: 'complete' } }
    if (failure === 'committed') return { end: { move: 'complete' }, transaction: failure }
    // Where this worker has claimed the entry again meanwhile, that claim has to end.
    if (failure === 'lost')
      return run.entry === entry
        ? { end: { move: 'complete' }, transaction: failure }
        : { end: { move: 'handBack' } }
    // A handler that ignores its signal keeps its entry and its slot until the lease that it began with is over: the entry
    // must not be handled twice at once, and other entries must not wait longer than that.
    const leftMs = run.begunAt + leaseMs - performance.now()
    if (leftMs > 0) {
      await withTimeout(settled(), leftMs, 'an aborted handler').catch(() => {})
    }
    const error = errorText(failure.error, secrets, MAX_REASON_LENGTH)
    const isFinal =
      attempt >= maxAttempts || failure.code === 'ERR_PAYLOAD_INVALID' || forbidsRetry(failure.error)
    if (isFinal) return { end: { move: 'deadLetter', error }, failure }
    // This process aborted the handlers because it stops. Another process may claim the entry at once.
    const delayMs = this.#aborted ? 0 : backoff(attempt, this.#options)
    return { end: { move: 'reschedule', delayMs, error }, failure }
  }

  #dispatchInTransaction(run: Run, event: CallbackEvent): TransactionalDispatch {
    const { inbox, dispatcher } = this.#options
    const { entry, controller } = run
    return dispatchInTransaction({
      inbox,
      claim: entry,
      timeoutMs: dispatcher.limitMs(event.type) + COMMIT_LIMIT_MS,
      dispatch: (transaction) =>
        dispatcher.dispatch(event, entry.attempt, controller.signal, { transaction }),
      abort: (why) => controller.abort(why),
      mayCommit: () => !this.#left,
    })
  }

  /** Resolves to whether the handlers of the entry may begin, which has then been recorded. */
  async #begin(run: Run): Promise<boolean> {
    const { leaseMs, logger } = this.#options
    const { entry } = run
    run.begunAt = performance.now()
    try {
      const begun = await withTimeout(this.#recordBegin(entry), leaseMs / 2, 'the inbox')
      run.lost ||= run.entry === entry && !begun.has(entry.id)
      run.leaseEndsAt = Math.max(run.leaseEndsAt, run.begunAt + leaseMs)
      if (performance.now() > run.begunAt + leaseMs / 2)
        throw new Error(
          'the process was paused, or the inbox was slow: recording took longer than half a lease',
        )
      return run.entry === entry && !run.lost && !run.controller.signal.aborted
    } catch (error) {
      const fields = { code: 'ERR_INBOX_UNAVAILABLE', entry: entry.id, err: error }
      logger.error(fields, 'the start of the handlers could not be recorded: the entry is handed back')
      // Without the pause, an inbox that fails at this step alone would be called in a busy loop.
      await this.#beforeNextTry()
      return false
    }
  }

  /** Tries until the end is recorded or the claim is lost: an entry without a recorded end would be handled again. */
  async #recordEnd(run: Run, end: ClaimEnd): Promise<boolean> {
    const { leaseMs, logger } = this.#options
    while (!this.#left) {
      const { entry } = run
      try {
        const settled = await withTimeout(this.#settle({ claim: entry, end }), leaseMs, 'the inbox')
        if (settled.has(entry.id) || run.entry === entry) return settled.has(entry.id)
      } catch (error) {
        const fields = { code: 'ERR_INBOX_UNAVAILABLE', entry: entry.id, err: error }
        logger.error(fields, 'the end of an entry could not be recorded')
        await this.#beforeNextTry()
      }
    }
    return false
  }

  async #beforeNextTry(): Promise<void> {
    const againMs = Math.min(this.#options.pollMs, TRY_AGAIN_MS)
    await new Promise((resolve) => setTimeout(resolve, againMs))
  }

  #publish({ end, failure }: AttemptEnd, what: AttemptEvent & { readonly entry: EntryId }): void {
    const { events, logger } = this.#options
    const { code, error } = failure ?? { code: 'ERR_INTERNAL', error: undefined }
    switch (end.move) {
      case 'complete':
        if (events.has('handled')) events.publish('handled', what)
        return
      case 'reschedule':
        if (events.has('failed')) events.publish('failed', { ...what, code, error, retryInMs: end.delayMs })
        return
      case 'deadLetter':
        if (events.has('dead')) events.publish('dead', { ...what, code, error, reason: end.error })
        return
      case 'handBack': {
        const message = 'entry was handed back: its handlers were not begun'
        logger.warn({ ...attemptFields(what), move: end.move }, message)
      }
    }
  }

  async #renewLeases(): Promise<void> {
    const { inbox, leaseMs, logger } = this.#options
    const claims = [...this.#running.values()].map((run) => ({ run, entry: run.entry }))
    if (claims.length === 0) return
    const leaseEndsAt = performance.now() + leaseMs
    try {
      const tokens = claims.map(({ entry }) => entry)
      const held = await withTimeout(inbox.extend(tokens, leaseMs), leaseMs / 3, 'the inbox')
      for (const { run, entry } of claims) {
        if (run.entry !== entry) continue
        if (held.has(entry.id)) run.leaseEndsAt = leaseEndsAt
        else {
          run.lost = true
          run.controller.abort(new Error('the lease of this entry was lost: another worker handles it'))
        }
      }
    } catch (error) {
      logger.error({ code: 'ERR_INBOX_UNAVAILABLE', err: error }, 'leases could not be renewed')
      // Another process may reach the inbox and claim the entry. The handlers must have ended by then.
      for (const { run } of claims) {
        if (run.leaseEndsAt - performance.now() > leaseMs / 3) continue
        run.controller.abort(new Error('the lease of this entry runs out and could not be renewed'))
      }
    }
  }

  async #drain(limitMs: number): Promise<void> {
    this.#endWatch?.()
    this.wake()
    const abort = (reason: Error) => {
      this.#aborted = true
      for (const { controller } of this.#running.values()) controller.abort(reason)
    }
    await endOrAbort({ ended: this.#ended(), limitMs, abort, logger: this.#options.logger })
    this.#left = true
    clearInterval(this.#heartbeat)
  }

  async #ended(): Promise<void> {
    await Promise.all([this.#loop, this.#maintenance.stop()])
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  async #pause(ms: number): Promise<void> {
    if (this.#awake) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
