import type { EntryId } from '../callback/callback.js'
import { checkKnownOptions, functionOption, integerOption } from '../base/option-checks.js'
import { AskedTypes, handledTypes } from './handled-types.js'
import type {
  AddResult,
  Arrival,
  ClaimEntries,
  Claims,
  ClaimToken,
  EventTypes,
  PruneEntries,
  QuarantineCause,
  SettledClaim,
} from './inbox.js'
import type {
  ActOptions,
  ActResult,
  CompleteInbox,
  Entry,
  EntryFilter,
  EntryPage,
  EntrySummary,
  InboxStats,
  OperatorAction,
  RelatedEntry,
} from './operations.js'
import { InboxClock } from './inbox-clock.js'
import { KnownCallbacks } from './memory/known-callbacks.js'
import { listOf, shownStates, statsOf, type StateOf } from './memory/look.js'
import { createEntry, summaryOf, type MemoryEntry } from './memory/memory-entry.js'
import { sharedBy } from './memory/related-entries.js'
import { setDue, UnfinishedEntries } from './memory/unfinished-entries.js'
import { actionRefusal, missingRefusal } from './operator-action.js'
import { QUARANTINE_REASON } from './quarantine-reason.js'
import { DEFAULT_DISCARDED_RETENTION_MS, DEFAULT_RETENTION_MS, deletableBefore } from './retention.js'
import { MOVES, type StoredState } from './states.js'

export interface MemoryInboxOptions {
  /**
   * How long a handled entry is kept at least, in milliseconds.
   * @default 604_800_000 (7 days)
   */
  readonly retentionMs?: number | undefined
  /**
   * How long an entry that an operator discarded is kept at least, in milliseconds; never less than `retentionMs`.
   * @default 2_592_000_000 (30 days)
   */
  readonly discardedRetentionMs?: number | undefined
  /**
   * The current time, in milliseconds since 1970.
   * @default Date.now
   */
  readonly clock?: (() => number) | undefined
}

/** An inbox in the memory of this process, for tests and first steps. Its entries are lost when the process ends. */
export class MemoryInbox implements CompleteInbox {
  readonly retentionMs: number
  readonly discardedRetentionMs: number
  readonly #clock: InboxClock
  /** In the order of arrival. */
  readonly #entries = new Map<EntryId, MemoryEntry>()
  readonly #unfinished = new UnfinishedEntries()
  readonly #known = new KnownCallbacks()
  readonly #askedTypes = new AskedTypes()
  readonly #typesSeenAt = new Map<string, number>()
  #lastSequence = 0

  constructor(options: MemoryInboxOptions = {}) {
    checkKnownOptions(OWNER, options, KNOWN)
    const duration = (name: 'retentionMs' | 'discardedRetentionMs', fallback: number) =>
      integerOption(OWNER, name, options[name], { fallback, min: 1 })
    this.retentionMs = duration('retentionMs', DEFAULT_RETENTION_MS)
    this.discardedRetentionMs = duration('discardedRetentionMs', DEFAULT_DISCARDED_RETENTION_MS)
    this.#clock = new InboxClock(functionOption(OWNER, 'clock', options.clock, Date.now))
  }

  // The methods are async so that a throw becomes a rejection. None may await: each is one atomic step.
  async open(): Promise<void> {}

  async add(arrival: Arrival): Promise<AddResult> {
    const { recognition, known, signed } = this.#known.recognize(arrival)
    switch (recognition) {
      case 'duplicate':
        if (!signed) this.#addSignature(known!, arrival)
        known!.copies++
        return { result: 'duplicate', id: known!.id }
      case 'suspicion':
        return this.#quarantine(arrival, recognition, arrival.suspicion!)
      case 'conflict':
        return this.#quarantine(arrival, recognition, QUARANTINE_REASON.conflict(known!.id))
      case 'replay':
        return this.#quarantine(arrival, recognition, QUARANTINE_REASON.replay(signed!.id))
      case 'forgotten':
        return this.#quarantine(arrival, recognition, QUARANTINE_REASON.forgotten)
      case 'new': {
        const entry = this.#insert(arrival, 'stored')
        this.#known.add(entry)
        this.#unfinished.makeDue(entry, this.#clock.now())
        return { result: 'stored', id: entry.id }
      }
    }
  }

  async claim({ eventTypes, limit, leaseMs, interrupted = false }: ClaimEntries): Promise<Claims> {
    const now = this.#clock.now()
    const clockSetBackMs = this.#setTimesAnew(now)
    this.#recordTypes(eventTypes, now)
    const ready = this.#unfinished.ready(eventTypes)
    const wanted = ready.filter((entry) => isInterrupted(entry) === interrupted)
    const due = wanted
      .filter(({ dueAt }) => dueAt! <= now)
      .sort((a, b) => a.dueAt! - b.dueAt! || a.sequence - b.sequence)
      .slice(0, limit)
    const entries = due.map((entry) => {
      entry.state = MOVES.claim.to
      entry.token++
      setDue(entry, now, leaseMs)
      const { id, token, callback, attempts, replayed } = entry
      return { id, token, callback, attempt: attempts + 1, replayed }
    })
    const next = Math.min(...wanted.map(({ dueAt }) => dueAt!))
    return {
      entries,
      nextDueInMs: entries.length < limit && next < Infinity ? next - now : undefined,
      interruptedIsDue: ready.some((entry) => isInterrupted(entry) && entry.dueAt! <= now),
      clockSetBackMs,
    }
  }

  async begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    const held = this.#renew(claims, leaseMs)
    for (const entry of held) {
      if (entry.begunBy !== entry.token) entry.attempts++
      entry.begunBy = entry.token
    }
    return idsOf(held)
  }

  async extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return idsOf(this.#renew(claims, leaseMs))
  }

  async settle(ends: readonly SettledClaim[]): Promise<ReadonlySet<EntryId>> {
    const settled = ends.map((end) => this.#settle(end)).filter((entry) => entry !== undefined)
    return idsOf(settled)
  }

  async stats(): Promise<InboxStats> {
    return statsOf(this.#entries.values(), this.#shownStates())
  }

  async list(filter: EntryFilter, page: EntryPage = {}): Promise<EntrySummary[]> {
    return listOf(this.#entries.values(), filter, page, this.#shownStates())
  }

  async show(id: EntryId): Promise<Entry | undefined> {
    const entry = this.#entries.get(id)
    if (!entry) return undefined
    const summary = summaryOf(entry, this.#shownStates()(entry))
    return { ...summary, rawBody: entry.callback.rawBody, history: [...entry.history] }
  }

  async related(id: EntryId): Promise<RelatedEntry[]> {
    const entry = this.#entries.get(id)
    return entry ? this.#related(entry) : []
  }

  async act(
    id: EntryId,
    action: OperatorAction,
    by: string,
    { again = false }: ActOptions = {},
  ): Promise<ActResult> {
    const entry = this.#entries.get(id)
    if (!entry) return missingRefusal(id)
    const shown = { id, state: this.#shownStates()(entry) }
    const refusal = actionRefusal(action, shown, this.#related(entry), again)
    if (refusal !== undefined) return refusal
    const now = this.#clock.now()
    if (action === 'release') {
      this.#known.release(entry)
      // The type in the header is not signed: what the signature proves is the subscription.
      entry.callback = { ...entry.callback, type: entry.callback.subscription.eventTypeName }
    }
    entry.history.push({ at: new Date(now), action, by })
    entry.state = MOVES[action].to
    if (action === 'discard') {
      this.#end(entry)
    } else {
      entry.attempts = 0
      entry.replayed = true
      entry.finishedAt = undefined
      this.#unfinished.makeDue(entry, now)
    }
    return { done: true }
  }

  async prune({ state, limit, olderThanMs, dryRun = false }: PruneEntries): Promise<number> {
    const now = this.#clock.now()
    const end = deletableBefore(
      { state, olderThanMs },
      { now, latestSignedAt: this.#latestSignedAt(now) },
      this,
    )
    const old = [...this.#entries.values()]
      .filter((entry) => entry.state === state)
      .filter(({ finishedAt, latestSignedAt }) => finishedAt! < end && latestSignedAt < end)
      .sort((a, b) => a.finishedAt! - b.finishedAt!)
      .slice(0, limit)
    if (dryRun) return old.length
    for (const entry of old) {
      this.#entries.delete(entry.id)
      this.#known.delete(entry)
    }
    return old.length
  }

  async close(): Promise<void> {}

  #quarantine(arrival: Arrival, why: QuarantineCause, reason: string): AddResult {
    // One entry for a signature, whatever else differs: an attacker with one captured delivery cannot fill the memory.
    const copy = this.#known.quarantined(arrival.signature)
    if (copy) {
      copy.copies++
      return { result: 'duplicate', id: copy.id }
    }
    const entry = this.#insert(arrival, 'quarantined')
    entry.reason = reason
    this.#known.addQuarantined(entry)
    return { result: 'quarantined', id: entry.id, why }
  }

  #insert(arrival: Arrival, state: StoredState): MemoryEntry {
    const entry = createEntry(arrival, ++this.#lastSequence, state)
    this.#entries.set(entry.id, entry)
    return entry
  }

  #addSignature(entry: MemoryEntry, arrival: Arrival): void {
    this.#known.addSignature(entry, arrival)
    if (entry.finishedAt !== undefined) entry.finishedAt = Math.max(entry.finishedAt, this.#clock.now())
  }

  #recordTypes(eventTypes: EventTypes, now: number): void {
    const types = this.#askedTypes.toRecord(eventTypes, now)
    for (const type of types) this.#typesSeenAt.set(type, now)
    if (types.length > 0) this.#askedTypes.recorded(eventTypes, now)
  }

  /** A function, so that the handled types are determined once for many entries. */
  #shownStates(): StateOf {
    const asked = [...this.#typesSeenAt].map(([eventType, seenAt]) => ({ eventType, seenAt }))
    return shownStates(handledTypes(asked))
  }

  #settle({ claim, end }: SettledClaim): MemoryEntry | undefined {
    const entry = this.#held(claim)
    if (!entry) return undefined
    const { move } = end
    entry.state = MOVES[move].to
    if ('error' in end) entry.reason = end.error
    if (move === 'complete') entry.reason = undefined
    if (move === 'handBack') {
      if (entry.begunBy === entry.token) entry.attempts--
      // `begunBy` stays: an entry that was interrupted before is still to be handled alone.
    } else {
      entry.begunBy = undefined
    }
    if (move === 'reschedule') this.#unfinished.makeDue(entry, this.#clock.now(), end.delayMs)
    else if (move === 'handBack') this.#unfinished.makeDue(entry, this.#clock.now())
    else this.#end(entry)
    return entry
  }

  #end(entry: MemoryEntry): void {
    this.#unfinished.remove(entry)
    entry.finishedAt = this.#clock.now()
  }

  #related(entry: MemoryEntry): RelatedEntry[] {
    const stateOf = this.#shownStates()
    return [...this.#entries.values()].flatMap((other) => {
      const shares = sharedBy(entry, other)
      if (shares === undefined) return []
      const accepted = other.replayed || this.#known.isKnown(other)
      return { id: other.id, state: stateOf(other), shares, accepted }
    })
  }

  /** A time counts no further than its arrival: one that was signed far in the future must not set the second clock ahead. */
  #latestSignedAt(now: number): number | undefined {
    let latest: number | undefined
    for (const { callback } of this.#entries.values()) {
      const signedAt = Number(callback.signedAt)
      if (signedAt > now) continue
      latest = Math.max(latest ?? -Infinity, Math.min(signedAt, Number(callback.receivedAt)))
    }
    return latest
  }

  #held({ id, token }: ClaimToken): MemoryEntry | undefined {
    const entry = this.#entries.get(id)
    return entry?.state === 'running' && entry.token === token ? entry : undefined
  }

  #renew(claims: readonly ClaimToken[], leaseMs: number): MemoryEntry[] {
    const now = this.#clock.now()
    const held = claims.map((claim) => this.#held(claim)).filter((entry) => entry !== undefined)
    for (const entry of held) setDue(entry, now, leaseMs)
    return held
  }

  #setTimesAnew(now: number): number | undefined {
    const steps = this.#clock.unhandledSteps
    if (steps === 0) return undefined
    for (const entry of this.#entries.values())
      if (entry.finishedAt !== undefined) entry.finishedAt = Math.min(entry.finishedAt, now)
    for (const [type, seenAt] of this.#typesSeenAt) this.#typesSeenAt.set(type, Math.min(seenAt, now))
    return this.#clock.handled(steps, this.#unfinished.setTimesAnew(now))
  }
}

const OWNER = 'new MemoryInbox'
const KNOWN = [
  'retentionMs',
  'discardedRetentionMs',
  'clock',
] as const satisfies readonly (keyof MemoryInboxOptions)[]

function isInterrupted({ begunBy }: MemoryEntry): boolean {
  return begunBy !== undefined
}

function idsOf(entries: readonly MemoryEntry[]): ReadonlySet<EntryId> {
  return new Set(entries.map(({ id }) => id))
}
