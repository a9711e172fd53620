import { every } from '../base/environment.js'
import { nextTick } from '../base/next-tick.js'
import type { MaybePending } from '../base/pending.js'
import { withTimeout } from '../base/timeout.js'
import type { CallbackPayload, EntryId } from '../callback/callback.js'
import type { AttemptResult, AttemptStep } from '../events/steps.js'
import { endOrAbort } from '../handlers/end-or-abort.js'
import type { Arrival, ClaimedEntry, ClaimEnd, ClaimToken } from '../inbox/engine.js'
import { runAttempt, type AttemptEnd, type AttemptParts } from './attempt.js'
import { logAttempts } from './attempt-log.js'
import { ClaimRecords } from './claim-records.js'
import { ClaimSchedule, type Slots } from './claim-schedule.js'
import { Claimer } from './claimer.js'
import { usableConcurrency, warnOfConcurrency } from './concurrency.js'
import { renewLeases } from './leases.js'
import { LentSlots, type BegunEntry, type Slot } from './lent-slots.js'
import { Maintenance } from './maintenance.js'
import { publishAttempt } from './publish-attempt.js'
import { abortRun, type Run } from './run.js'
import type { WorkerParts } from './worker-parts.js'

/** Empties the inbox: claims entries, runs their handlers, and records how each attempt ended. */
export class Worker {
  readonly #parts: AttemptParts
  readonly #maintenance: Maintenance
  /** By the id of the entry. */
  readonly #running = new Map<EntryId, Run>()
  readonly #schedule = new ClaimSchedule()
  readonly #claimer: Claimer
  readonly #records: ClaimRecords
  readonly #lentSlots: LentSlots
  /** Whether the inbox stores entries with a claim, as far as it is known. */
  #beginsOnArrival = true
  /** Whether the latest arrival could have begun if a slot had been free. */
  #arrivalsMayBegin = false
  /** Those of the running entries that have ended, and only wait until that is recorded. */
  readonly #recording = new Set<Run>()
  #endWatch: (() => void) | undefined
  #loop: Promise<void> | undefined
  #endHeartbeat = (): void => {}
  #stopped: Promise<void> | undefined
  /** Whether handlers have been aborted: no more handlers are started. */
  #aborted = false
  #awake = false
  /** The callers of `idle()`. */
  readonly #waitingForIdle: (() => void)[] = []
  #wakeUp = (): void => {}

  constructor(parts: WorkerParts) {
    this.#records = new ClaimRecords(parts)
    this.#parts = { ...parts, records: this.#records, isAborted: () => this.#aborted }
    logAttempts(parts.events, parts.logger)
    this.#claimer = new Claimer(parts, this.#schedule)
    this.#maintenance = new Maintenance(parts)
    this.#lentSlots = new LentSlots(parts, (begun) => this.#takeBegun(begun))
  }

  /** Safe to call twice; without effect once stopped. */
  start(): void {
    if (this.#loop || this.#stopped) return
    warnOfConcurrency(this.#parts)
    const { environment, leaseMs } = this.#parts
    const renew = () => void renewLeases(this.#running.values(), this.#records, this.#parts)
    this.#endHeartbeat = every(environment, leaseMs / 3, renew)
    this.#endWatch = this.#parts.inbox.watch?.(() => this.wake())
    this.#loop = this.#work()
    this.#maintenance.start()
  }

  /**
   * Lends a slot to an arrival that is about to be stored. Its handlers then begin without a claim, which takes half of the
   * statements. Undefined if no slot is free, or if others wait for one. To be returned by `stored`, `notStored` or `mayBeStored`.
   * `payload`: the parsed body, so that it is not parsed again.
   */
  reserve(arrival: Arrival, payload?: CallbackPayload): Slot | undefined {
    return this.#mayBegin(arrival) ? this.#lentSlots.lend(arrival, payload) : undefined
  }

  /** To be called when an arrival was stored. `claim`: that of the inbox, if it has recorded that the handlers begin. */
  stored(slot: Slot | undefined, claim: ClaimToken | undefined): void {
    if (slot) {
      this.#beginsOnArrival = claim !== undefined
      if (claim) return this.#lentSlots.begin(slot, claim)
      this.#lentSlots.takeBack(slot)
    }
    this.#schedule.stored()
    this.#look()
  }

  /** To be called when an arrival was known or is suspect. */
  notStored(slot: Slot | undefined): void {
    if (!slot) return
    this.#lentSlots.takeBack(slot)
    this.#slotIsFree()
  }

  /** To be called when the inbox failed. */
  mayBeStored(slot: Slot | undefined): void {
    this.#schedule.othersMayBeDue()
    this.notStored(slot)
  }

  /** To be called when an entry may have become due. */
  wake(): void {
    this.#schedule.othersMayBeDue()
    this.#look()
  }

  /**
   * Resolves once nothing runs and no entry is due that this worker has a handler for; immediately if it has not started, or when
   * it has stopped.
   */
  async idle(): Promise<void> {
    if (!this.#loop) return
    const idle = new Promise<void>((resolve) => this.#waitingForIdle.push(resolve))
    this.wake()
    await Promise.race([idle, this.#loop.then(() => this.#stopped)])
  }

  /**
   * Claims nothing more, and resolves once the running handlers have ended. After `limitMs` their signals are aborted. Handlers
   * that ignore the signal are not waited for, and their leases end. Safe to call twice.
   */
  stop(limitMs: number): Promise<void> {
    return (this.#stopped ??= this.#drain(limitMs))
  }

  async #work(): Promise<void> {
    while (!this.#stopped) {
      // One claim for all slots that become free in one event loop tick, and for all entries that are stored in it.
      await nextTick(this.#parts.environment)
      if (this.#stopped) return
      this.#awake = false
      // A caller that asks during the claim may have stored an entry that the claim has not seen.
      const waiting = this.#waitingForIdle.length
      const { entries, leaseEndsAt, waitMs, nothingElseIsDue } = await this.#claimer.claim(
        () => this.#slots,
        this.#arrivalsMayBegin && this.#beginsOnArrival,
      )
      if (this.#aborted) this.#claimer.handBack(entries)
      else for (const entry of entries) this.#take(entry, leaseEndsAt)
      this.#schedule.taken()
      if (nothingElseIsDue && this.#slots.running === 0)
        for (const resolve of this.#waitingForIdle.splice(0, waiting)) resolve()
      if (waitMs > 0) await this.#pause(waitMs)
    }
  }

  get #slots(): Slots {
    const running = this.#running.size + this.#lentSlots.count
    return { running, recording: this.#recording.size, concurrency: usableConcurrency(this.#parts) }
  }

  #mayBegin({ callback, orderKey, suspicion }: Arrival): boolean {
    this.#arrivalsMayBegin =
      this.#beginsOnArrival &&
      // If the answer of the inbox is lost, an attempt counts that was none. It must not be the last.
      this.#parts.maxAttempts > 1 &&
      orderKey === undefined &&
      suspicion === undefined &&
      this.#parts.handlers.for(callback.type).length > 0
    if (!this.#arrivalsMayBegin || this.#stopped) return false
    return this.#schedule.hasRoom(this.#slots)
  }

  #takeBegun(begun: BegunEntry): void {
    const { entry, begunAt } = begun
    if (this.#aborted) this.#claimer.handBack([entry])
    else this.#take(entry, begunAt + this.#parts.leaseMs, begun)
  }

  #take(entry: ClaimedEntry, leaseEndsAt: number, begun?: BegunEntry): void {
    const held = this.#running.get(entry.id)
    const hasBegun = entry.begun === true
    if (held && !isSameCallback(held.entry, entry)) return this.#handleLater(entry, held, hasBegun)
    // Its end may turn out to be recorded, and then this claim takes the slot.
    if (held) this.#recording.delete(held)
    if (held && isRetried(held.entry, entry)) {
      // The end of this run was recorded, and that answer was lost, or another process has recorded one. It must not end the new claim.
      Object.assign(held, { ended: held.entry, entry, leaseEndsAt, lost: true })
      return abortRun(held, new Error('an operator has retried the entry: its earlier claim has ended'))
    }
    if (held) {
      // Its lease ended, and no other process claimed it. Its handlers are still running, and then end the new claim: an entry
      // must not be handled twice at the same time, or again if it was handled while the inbox could not be reached.
      Object.assign(held, { entry, leaseEndsAt, lost: false })
      return
    }
    const run: Run = {
      entry,
      leaseEndsAt,
      lost: false,
      hasBegun,
      begunAt: leaseEndsAt - this.#parts.leaseMs,
      payload: begun?.payload,
      controller: new AbortController(),
      isAborted: false,
      ended: undefined,
      done: Promise.resolve(),
    }
    this.#running.set(entry.id, run)
    const { events } = this.#parts
    const { id, callback, attempt } = entry
    if (events.has('claimed')) events.publish('claimed', { entryId: id, callback, attempt })
    let isHandled = false
    run.done = this.#attempt(run)
      .then(({ code }) => {
        isHandled = code === 'HANDLED'
      })
      .catch((error: unknown) => {
        const fields = { code: 'ERR_INTERNAL', entryId: entry.id, err: error }
        this.#parts.logger.error(
          fields,
          'an internal error ended the run of an entry: it is claimed again when its lease has ended',
        )
      })
      .finally(() => {
        this.#running.delete(entry.id)
        if (run.ended && run.ended !== run.entry) this.#takeNext(run)
        if (isHandled && run.entry.isOrdered === false) this.#slotIsFree()
        else this.wake()
      })
  }

  /** A slot became free, and no other entry became due by that. */
  #slotIsFree(): void {
    if (!this.#schedule.nothingWaits || this.#waitingForIdle.length > 0) this.#look()
  }

  /**
   * The inbox has given the id to another callback: its file was replaced, or the server that took over lacked the entry. The end of
   * the callback that is running must not be recorded for this one, so this one gets another claim later.
   */
  #handleLater(entry: ClaimedEntry, held: Run, hasBegun: boolean): void {
    held.lost = true
    abortRun(held, new Error('the entry is not in the inbox any more, which gave its id to another one'))
    const error = 'the process was handling another callback, which had the same id in the inbox before'
    // If its begin is recorded, its attempt counts unless it is handed back. It is then claimed once nothing else runs.
    if (hasBegun) return this.#claimer.handBack([entry])
    const end = { move: 'reschedule', delayMs: this.#parts.retryDelayMs, error } as const
    this.#parts.inbox.settle([{ claim: entry, end }]).catch(() => {})
  }

  /** The entry was claimed again after the end of this run was recorded, and before this process had read that answer. */
  #takeNext({ entry, leaseEndsAt }: Run): void {
    if (this.#stopped) this.#claimer.handBack([entry])
    else this.#take(entry, leaseEndsAt)
  }

  #attempt(run: Run): Promise<AttemptResult> {
    const { events } = this.#parts
    if (!events.isSurrounded('attempt')) return this.#run(run)
    return Promise.resolve(events.within('attempt', stepOf(run), () => this.#run(run)))
  }

  async #run(run: Run): Promise<AttemptResult> {
    const { environment } = this.#parts
    const startedAt = environment.monotonic()
    const attemptEnd = await runAttempt(run, this.#parts)
    this.#recording.add(run)
    this.#slotIsFree()
    const isRecorded = await this.#isRecorded(run, attemptEnd).finally(() => this.#recording.delete(run))
    const { id: entryId, attempt, callback } = run.ended ?? run.entry
    const what = { entryId, callback, attempt, durationMs: environment.monotonic() - startedAt }
    if (isRecorded) return publishAttempt(attemptEnd, what, this.#parts)
    const error = attemptEnd.failure?.error
    if (this.#parts.events.has('leaseLost')) this.#parts.events.publish('leaseLost', { ...what, error })
    return { code: 'ERR_CLAIM_LOST', error }
  }

  async #isRecorded(run: Run, { end, transaction }: AttemptEnd): Promise<boolean> {
    if (transaction !== undefined) return transaction === 'committed'
    return !run.lost && (await this.#settle(run, end))
  }

  #settle(run: Run, end: ClaimEnd): MaybePending<boolean> {
    const { events } = this.#parts
    const record = () => this.#records.end(run, end)
    return events.isSurrounded('settle')
      ? events.within('settle', { ...stepOf(run), move: end.move }, record)
      : record()
  }

  async #drain(limitMs: number): Promise<void> {
    this.#endWatch?.()
    this.wake()
    const abort = (reason: Error) => {
      this.#aborted = true
      for (const run of this.#running.values()) abortRun(run, reason)
    }
    const { logger, environment } = this.#parts
    await endOrAbort({ ended: this.#ended(), limitMs, abort, logger, environment })
    this.#records.close()
    this.#endHeartbeat()
  }

  async #ended(): Promise<void> {
    await Promise.all([this.#loop, this.#maintenance.stop(), this.#arrived()])
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  /** What is stored later than that is handed back. `endOrAbort` keeps the process alive for as long as `stop` may take. */
  async #arrived(): Promise<void> {
    const { leaseMs, environment } = this.#parts
    const ended = this.#lentSlots.ended()
    await withTimeout(ended, leaseMs / 2, 'the inbox', { environment }).catch(() => undefined)
  }

  #look(): void {
    this.#awake = true
    this.#wakeUp()
  }

  async #pause(ms: number): Promise<void> {
    if (this.#awake) return
    const { environment } = this.#parts
    await new Promise<void>((resolve) => {
      const timer = environment.setTimeout(resolve, ms)
      this.#wakeUp = () => {
        environment.clearTimeout(timer)
        resolve()
      }
    })
  }
}

function isSameCallback({ callback: one }: ClaimedEntry, { callback: other }: ClaimedEntry): boolean {
  return one.idempotencyKey === other.idempotencyKey && one.subscription.id === other.subscription.id
}

/** Whether an operator has retried an entry since a claim of it: its attempts are then counted anew. */
function isRetried(held: ClaimedEntry, entry: ClaimedEntry): boolean {
  return entry.replayed && (!held.replayed || entry.attempt <= held.attempt)
}

function stepOf({ entry: { id, callback, attempt } }: Run): AttemptStep & { readonly entryId: EntryId } {
  return { entryId: id, callback, attempt }
}
