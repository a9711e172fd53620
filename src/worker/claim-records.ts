import { delay } from '../base/environment.js'
import { withTimeout } from '../base/timeout.js'
import type { EntryId } from '../callback/callback.js'
import { FailureLog } from '../logging/failure-log.js'
import { ATTEMPT_RESULT } from '../inbox/attempt-history.js'
import type { ClaimedEntry, ClaimEnd, ClaimToken, SettledClaim } from '../inbox/engine.js'
import { inOneCall, SAME_STEP, sameTick } from './one-call.js'
import type { Run } from './run.js'
import type { WorkerParts } from './worker-parts.js'

/** The longest pause before a failed call for an entry is repeated, in milliseconds; `pollMs` if that is shorter. */
const TRY_AGAIN_MS = 1_000

/** Records in the inbox that handlers begin, that they are still running, and how attempts ended. */
export class ClaimRecords {
  readonly #parts: WorkerParts
  readonly #begin: (claim: ClaimToken) => Promise<ReadonlySet<EntryId>>
  readonly #extend: (claim: ClaimToken) => Promise<ReadonlySet<EntryId>>
  readonly #settle: (end: SettledClaim) => Promise<ReadonlySet<EntryId>>
  readonly #beginFailures: FailureLog
  readonly #endFailures: FailureLog
  /** The runs whose end could not be recorded yet. */
  readonly #unrecorded = new Set<Run>()
  #closed = false

  constructor(parts: WorkerParts) {
    this.#parts = parts
    const { inbox, leaseMs, logger, environment } = parts
    this.#beginFailures = new FailureLog(
      logger,
      'the start of the handlers could not be recorded: the entry is handed back',
    )
    this.#endFailures = new FailureLog(logger, 'the end of an entry could not be recorded')
    this.#begin = inOneCall(SAME_STEP, async (claims) => inbox.begin(claims, leaseMs))
    this.#extend = inOneCall(SAME_STEP, async (claims) => inbox.extend(claims, leaseMs))
    this.#settle = inOneCall(sameTick(environment), async (ends) => inbox.settle(ends))
  }

  /** Whether nothing more may be recorded, because the worker has stopped and the inbox is closed. */
  get closed(): boolean {
    return this.#closed
  }

  close(): void {
    this.#closed = true
  }

  /**
   * Resolves to `begun` once it has been recorded that the handlers of the entry begin. Otherwise they must not begin: the claim was
   * lost or the worker stops, or the inbox failed, which has then been logged.
   */
  async begin(run: Run): Promise<'begun' | 'lost' | 'failed'> {
    const { leaseMs, logger, environment } = this.#parts
    const { entry } = run
    run.begunAt = environment.monotonic()
    try {
      const begun = await withTimeout(this.#begin(entry), leaseMs / 2, 'the inbox', { environment })
      run.lost ||= run.entry === entry && !begun.has(entry.id)
      run.leaseEndsAt = Math.max(run.leaseEndsAt, run.begunAt + leaseMs)
      if (environment.monotonic() > run.begunAt + leaseMs / 2)
        throw new Error(
          'the process was paused, or the inbox was slow: recording took longer than half a lease',
        )
      const failures = this.#beginFailures.succeeded()
      if (failures > 0) logger.info({ failures }, 'the start of handlers can be recorded again')
      return run.entry === entry && !run.lost && !run.isAborted ? 'begun' : 'lost'
    } catch (error) {
      this.#beginFailures.failed({ code: 'ERR_INBOX_UNAVAILABLE', entryId: entry.id, err: error })
      // Without the pause, an inbox that fails at this step alone would be called in a busy loop.
      await pauseBeforeNextTry(this.#parts)
      return 'failed'
    }
  }

  /** Renews the lease of a claim. Resolves to the ids of those that are still held. */
  extend(claim: ClaimToken): Promise<ReadonlySet<EntryId>> {
    const { leaseMs, environment } = this.#parts
    return withTimeout(this.#extend(claim), leaseMs / 3, 'the inbox', { environment })
  }

  /** Tries until the end is recorded or the claim is lost: an entry without a recorded end would be handled again. */
  async end(run: Run, end: ClaimEnd): Promise<boolean> {
    const { inbox, leaseMs, environment } = this.#parts
    while (!this.#closed) {
      const { entry } = run
      let settling: Promise<ReadonlySet<EntryId>> | undefined
      try {
        const ended = { claim: entry, end }
        // Repeated alone: the inbox may refuse the end of one entry only, with which the others would fail again.
        settling = this.#unrecorded.has(run) ? inbox.settle([ended]) : this.#settle(ended)
        const settled = await withTimeout(settling, leaseMs, 'the inbox', { environment })
        if (settled.has(entry.id)) run.ended = entry
        if (!run.ended && run.entry !== entry) continue
        if (!run.ended && this.#unrecorded.has(run) && (await this.#wasRecorded(entry, end)))
          run.ended = entry
      } catch (error) {
        // A call that takes too long may still record the end. A repeated call then finds that the claim is not held.
        Promise.resolve(settling)
          .then((settled) => {
            if (settled?.has(entry.id)) run.ended = entry
          })
          .catch(() => {})
        this.#unrecorded.add(run)
        this.#endFailures.failed({ code: 'ERR_INBOX_UNAVAILABLE', entryId: entry.id, err: error })
        await pauseBeforeNextTry(this.#parts)
        if (!run.ended) continue
      }
      this.#noLongerUnrecorded(run)
      return run.ended !== undefined
    }
    return false
  }

  /** Whether an end was recorded although its call rejected, as when the disk or the connection failed during the commit. */
  async #wasRecorded({ id, attempt }: ClaimedEntry, { move }: ClaimEnd): Promise<boolean> {
    try {
      const { inbox, leaseMs, environment } = this.#parts
      const shown = await withTimeout(inbox.show(id), leaseMs, 'the inbox', { environment })
      // An attempt that was handed back does not count.
      const counted = move === 'handBack' ? attempt - 1 : attempt
      return shown?.attempts === counted && shown.attemptHistory.at(-1)?.result === ATTEMPT_RESULT[move]
    } catch {
      return false
    }
  }

  /**
   * Logs the recovery once the last of these runs is recorded. Otherwise an inbox that refuses the end of one entry would cause a
   * line for each end that it records.
   */
  #noLongerUnrecorded(run: Run): void {
    if (!this.#unrecorded.delete(run) || this.#unrecorded.size > 0) return
    const failures = this.#endFailures.succeeded()
    this.#parts.logger.info({ failures }, 'the ends of entries can be recorded again')
  }
}

export function pauseBeforeNextTry({
  pollMs,
  environment,
}: Pick<WorkerParts, 'pollMs' | 'environment'>): Promise<void> {
  return delay(environment, Math.min(pollMs, TRY_AGAIN_MS))
}
