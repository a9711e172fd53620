import type { VerifiedCallback } from '../callback/callback.js'
import { recognise } from '../callback/recognition.js'
import { checkKnownOptions, functionOption, integerOption } from '../base/option-checks.js'
import type {
  ActOptions,
  ActResult,
  AddResult,
  Arrival,
  ClaimEnd,
  ClaimEntries,
  Claims,
  ClaimToken,
  CompleteInbox,
  Entry,
  EntryFilter,
  EntrySummary,
  EventTypes,
  InboxStats,
  OperatorAction,
  PruneOptions,
  QuarantineCause,
  RelatedEntry,
} from './inbox.js'
import { InboxClock } from './inbox-clock.js'
import { NO_ENTRIES } from './no-entries.js'
import { actionRefusal, missingRefusal } from './operator-action.js'
import { QUARANTINE_REASON } from './quarantine-reason.js'
import { deletableBefore } from './retention.js'
import { MOVES, PRUNABLE, type InboxState } from './states.js'

export interface MemoryInboxOptions {
  /**
   * How long what was handled is remembered at least, in milliseconds.
   * @default 604_800_000 (7 days)
   */
  readonly retentionMs?: number | undefined
  /**
   * How long what a person discarded is kept, in milliseconds.
   * @default 2_592_000_000 (30 days)
   */
  readonly discardedRetentionMs?: number | undefined
  /**
   * The current time, in milliseconds since 1970.
   * @default Date.now
   */
  readonly clock?: (() => number) | undefined
}

/**
 * An inbox in this process's memory, for tests and for trying out: it keeps every promise but the one that matters, as
 * nothing in it survives the process.
 */
export class MemoryInbox implements CompleteInbox {
  readonly retentionMs: number
  readonly discardedRetentionMs: number
  readonly #clock: InboxClock
  readonly #entries = new Map<number, StoredEntry>()
  /** What is stored, running or retrying: the only entries that a claim has to look at. */
  readonly #unfinished = new Set<StoredEntry>()
  /** What is unfinished or unhandled, by its order key. */
  readonly #queues = new Map<string, Set<StoredEntry>>()
  /** Entries by which repeats are recognised. What is in quarantine is not among them: a stranger may have written it. */
  readonly #knownByKey = new Map<string, StoredEntry>()
  readonly #knownBySignature = new Map<string, StoredEntry>()
  readonly #suspectBySignature = new Map<string, StoredEntry>()
  /** The latest time that a deleted entry was signed at. */
  #deletedUpTo = -Infinity
  #lastId = 0

  constructor(options: MemoryInboxOptions = {}) {
    checkKnownOptions(OWNER, options, KNOWN)
    const duration = (name: 'retentionMs' | 'discardedRetentionMs', fallback: number) =>
      integerOption(OWNER, name, options[name], { fallback, min: 1 })
    this.retentionMs = duration('retentionMs', 604_800_000)
    this.discardedRetentionMs = duration('discardedRetentionMs', 2_592_000_000)
    this.#clock = new InboxClock(functionOption(OWNER, 'clock', options.clock, Date.now))
  }

  // The methods are async for a throw inside to become a rejection; none may await before it is done.
  async open(): Promise<void> {}

  async add(arrival: Arrival): Promise<AddResult> {
    const { callback, key, bodyHash, signature, suspicion } = arrival
    const known = this.#knownByKey.get(key)
    const signed = this.#knownBySignature.get(signature)
    const recognition = recognise({
      key: !known ? 'unknown' : known.bodyHash === bodyHash ? 'same-body' : 'other-body',
      signature: !signed ? 'unknown' : signed === known ? 'same-key' : 'other-key',
      isSuspect: suspicion !== undefined,
      isForgotten: Number(callback.signedAt) <= this.#deletedUpTo,
    })
    switch (recognition) {
      case 'duplicate':
        if (!signed) this.#rememberSignature(known!, arrival)
        known!.copies++
        return { result: 'duplicate', id: known!.id }
      case 'suspicion':
        return this.#quarantine(arrival, recognition, suspicion!)
      case 'conflict':
        return this.#quarantine(arrival, recognition, QUARANTINE_REASON.conflict(known!.id))
      case 'replay':
        return this.#quarantine(arrival, recognition, QUARANTINE_REASON.replay(signed!.id))
      case 'forgotten':
        return this.#quarantine(arrival, recognition, QUARANTINE_REASON.forgotten)
      case 'new':
        return this.#store(arrival)
    }
  }

  #store(arrival: Arrival): AddResult {
    const entry = this.#insert(arrival, arrival.hasHandler ? 'stored' : 'unhandled')
    this.#makeKnown(entry)
    if (!arrival.hasHandler) {
      this.#takePlace(entry)
      return { result: 'unhandled', id: entry.id }
    }
    this.#makeDue(entry, this.#clock.now())
    return { result: 'stored', id: entry.id }
  }

  async claim({ eventTypes, limit, leaseMs, interrupted = false }: ClaimEntries): Promise<Claims> {
    const now = this.#clock.now()
    const clockSetBackMs = this.#setTimesAnew(now)
    const ready = this.#ready(eventTypes)
    const wanted = ready.filter((entry) => isInterrupted(entry) === interrupted)
    const due = wanted
      .filter(({ dueAt }) => dueAt! <= now)
      .sort((a, b) => a.dueAt! - b.dueAt! || a.id - b.id)
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

  async begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<number>> {
    const held = this.#renew(claims, leaseMs)
    for (const entry of held) {
      if (entry.begunBy !== entry.token) entry.attempts++
      entry.begunBy = entry.token
    }
    return new Set(held.map(({ id }) => id))
  }

  async extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<number>> {
    return new Set(this.#renew(claims, leaseMs).map(({ id }) => id))
  }

  async finish(claim: ClaimToken, result: ClaimEnd): Promise<boolean> {
    const entry = this.#held(claim)
    if (!entry) return false
    const { move } = result
    entry.state = MOVES[move].to
    if ('error' in result) entry.reason = result.error
    if (move === 'complete') entry.reason = undefined
    // Nothing was tried.
    if ((move === 'markUnhandled' || move === 'handBack') && entry.begunBy === entry.token) entry.attempts--
    // What was interrupted before and is handed back is still to be handled by itself.
    if (move !== 'handBack') entry.begunBy = undefined
    if (move === 'reschedule') this.#makeDue(entry, this.#clock.now(), result.delayMs)
    else if (move === 'handBack') this.#makeDue(entry, this.#clock.now())
    else this.#end(entry)
    return true
  }

  async requeueUnhandled(eventTypes: EventTypes): Promise<number> {
    const requeued = [...this.#entries.values()].filter(
      ({ state, callback }) => state === 'unhandled' && fits(eventTypes, callback.type),
    )
    for (const entry of requeued) {
      entry.state = MOVES.requeueUnhandled.to
      this.#makeDue(entry, this.#clock.now())
    }
    return requeued.length
  }

  async markUnhandled(eventTypes: EventTypes, dueBefore: number): Promise<number> {
    const waiting = this.#ready('any').filter(
      ({ state, replayed, dueAt, callback }) =>
        state === 'stored' && replayed && dueAt! < dueBefore && !fits(eventTypes, callback.type),
    )
    for (const entry of waiting) {
      entry.state = MOVES.markUnhandled.to
      this.#end(entry)
    }
    return waiting.length
  }

  async stats(): Promise<InboxStats> {
    const counts = { ...NO_ENTRIES }
    let oldestUnfinished: Date | undefined
    for (const { state, dueAt, callback } of this.#entries.values()) {
      counts[state]++
      if (dueAt !== undefined) oldestUnfinished ??= callback.receivedAt
    }
    return { ...counts, oldestUnfinished }
  }

  async list(
    filter: EntryFilter,
    { afterId = 0, limit = 100 }: { afterId?: number; limit?: number } = {},
  ): Promise<EntrySummary[]> {
    const { states, eventType, idempotencyKey, reason, before = Infinity, after = -Infinity } = filter
    return [...this.#entries.values()]
      .filter(
        ({ id, state, reason: own = '', callback: { type, idempotencyKey: key, receivedAt } }) =>
          id > afterId &&
          (states === undefined || states.includes(state)) &&
          (eventType === undefined || type === eventType) &&
          (idempotencyKey === undefined || key === idempotencyKey) &&
          (reason === undefined || lowerCase(own).includes(lowerCase(reason))) &&
          Number(receivedAt) < before &&
          Number(receivedAt) > after,
      )
      .slice(0, limit)
      .map(summaryOf)
  }

  async show(id: number): Promise<Entry | undefined> {
    const entry = this.#entries.get(id)
    return entry && { ...summaryOf(entry), rawBody: entry.callback.rawBody, history: [...entry.history] }
  }

  async related(id: number): Promise<RelatedEntry[]> {
    const entry = this.#entries.get(id)
    return entry ? this.#related(entry) : []
  }

  #related(entry: StoredEntry): RelatedEntry[] {
    const signatures = new Set([entry.signature, ...entry.moreSignatures])
    return [...this.#entries.values()].flatMap((other) => {
      if (other === entry) return []
      const sharesKey = other.key === entry.key
      const sharesSignature = [other.signature, ...other.moreSignatures].some((each) => signatures.has(each))
      if (!sharesKey && !sharesSignature) return []
      const isCallback = sharesKey && other.bodyHash === entry.bodyHash
      return {
        id: other.id,
        state: other.state,
        shares: isCallback ? 'callback' : sharesSignature ? 'signature' : 'key',
        accepted: other.replayed || this.#knownByKey.get(other.key) === other,
      }
    })
  }

  async act(
    id: number,
    action: OperatorAction,
    by: string,
    { again = false }: ActOptions = {},
  ): Promise<ActResult> {
    const entry = this.#entries.get(id)
    if (!entry) return missingRefusal(id)
    const refusal = actionRefusal(action, entry, this.#related(entry), again)
    if (refusal !== undefined) return refusal
    const now = this.#clock.now()
    if (action === 'release') {
      // Where its key or signature belongs to another entry, repeats are still recognised by that one.
      if (!this.#knownByKey.has(entry.key) && !this.#knownBySignature.has(entry.signature)) {
        this.#suspectBySignature.delete(entry.signature)
        this.#makeKnown(entry)
      }
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
      this.#makeDue(entry, now)
    }
    return { done: true }
  }

  async prune(
    state: InboxState,
    before: number,
    limit: number,
    { dryRun = false }: PruneOptions = {},
  ): Promise<number> {
    const now = this.#clock.now()
    const end = deletableBefore(before, { now, latestSignedAt: this.#latestSignedAt(now) }, this.retentionMs)
    const old = [...this.#entries.values()]
      .filter((entry) => entry.state === state && isPrunable(state))
      .filter(({ finishedAt, latestSignedAt }) => finishedAt! < end && latestSignedAt < end)
      .sort((a, b) => a.finishedAt! - b.finishedAt!)
      .slice(0, limit)
    if (!dryRun) for (const entry of old) this.#delete(entry)
    return old.length
  }

  async close(): Promise<void> {}

  #quarantine(arrival: Arrival, why: QuarantineCause, reason: string): AddResult {
    // One entry for a signature, whatever else was rewritten: who holds one captured delivery cannot fill the memory.
    const copy = this.#suspectBySignature.get(arrival.signature)
    if (copy) {
      copy.copies++
      return { result: 'duplicate', id: copy.id }
    }
    const entry = this.#insert(arrival, 'quarantined')
    entry.reason = reason
    this.#suspectBySignature.set(arrival.signature, entry)
    return { result: 'quarantined', id: entry.id, why }
  }

  #insert({ callback, key, bodyHash, signature, orderKey }: Arrival, state: InboxState): StoredEntry {
    const entry: StoredEntry = {
      id: ++this.#lastId,
      state,
      callback,
      key,
      bodyHash,
      signature,
      orderKey,
      attempts: 0,
      token: 0,
      begunBy: undefined,
      dueAt: undefined,
      dueSetAt: 0,
      hasTurn: false,
      finishedAt: undefined,
      reason: undefined,
      replayed: false,
      copies: 0,
      history: [],
      moreSignatures: [],
      latestSignedAt: Number(callback.signedAt),
    }
    this.#entries.set(entry.id, entry)
    return entry
  }

  #makeKnown(entry: StoredEntry): void {
    this.#knownByKey.set(entry.key, entry)
    this.#knownBySignature.set(entry.signature, entry)
  }

  /** Of an entry that was signed anew, for it not to be replayed: neither under another key nor once the entry is old. */
  #rememberSignature(entry: StoredEntry, { signature, callback }: Arrival): void {
    entry.moreSignatures.push(signature)
    entry.latestSignedAt = Math.max(entry.latestSignedAt, Number(callback.signedAt))
    this.#knownBySignature.set(signature, entry)
    if (entry.finishedAt !== undefined) entry.finishedAt = Math.max(entry.finishedAt, this.#clock.now())
  }

  /** A time counts no further than its arrival: one that was signed far in the future must not take the clock ahead. */
  #latestSignedAt(now: number): number | undefined {
    let latest: number | undefined
    for (const { callback } of this.#entries.values()) {
      const signedAt = Number(callback.signedAt)
      if (signedAt > now) continue
      latest = Math.max(latest ?? -Infinity, Math.min(signedAt, Number(callback.receivedAt)))
    }
    return latest
  }

  #held({ id, token }: ClaimToken): StoredEntry | undefined {
    const entry = this.#entries.get(id)
    return entry?.state === 'running' && entry.token === token ? entry : undefined
  }

  #ready(eventTypes: EventTypes): StoredEntry[] {
    return [...this.#unfinished].filter(({ hasTurn, callback }) => hasTurn && fits(eventTypes, callback.type))
  }

  #renew(claims: readonly ClaimToken[], leaseMs: number): StoredEntry[] {
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
    let aheadMs = 0
    for (const entry of this.#unfinished) {
      if (entry.dueSetAt <= now) continue
      aheadMs = Math.max(aheadMs, entry.dueSetAt - now)
      setDue(entry, now, entry.dueAt! - entry.dueSetAt)
    }
    return this.#clock.handled(steps, aheadMs)
  }

  #makeDue(entry: StoredEntry, now: number, delayMs = 0): void {
    setDue(entry, now, delayMs)
    this.#unfinished.add(entry)
    if (entry.orderKey === undefined) entry.hasTurn = true
    else this.#takePlace(entry)
  }

  #takePlace(entry: StoredEntry): void {
    const { orderKey } = entry
    if (orderKey === undefined) return
    const queue = this.#queues.get(orderKey) ?? new Set()
    this.#queues.set(orderKey, queue.add(entry))
    promoteNext(queue)
  }

  #end(entry: StoredEntry): void {
    entry.dueAt = undefined
    entry.hasTurn = false
    if (entry.state !== 'unhandled') entry.finishedAt = this.#clock.now()
    this.#unfinished.delete(entry)
    const queue = entry.orderKey === undefined ? undefined : this.#queues.get(entry.orderKey)
    if (!queue) return
    // An unhandled entry keeps its place: those behind it would otherwise be handled before it.
    if (entry.state !== 'unhandled') queue.delete(entry)
    if (queue.size === 0) this.#queues.delete(entry.orderKey!)
    else promoteNext(queue)
  }

  #delete(entry: StoredEntry): void {
    this.#entries.delete(entry.id)
    this.#deletedUpTo = Math.max(this.#deletedUpTo, entry.latestSignedAt)
    for (const [map, key] of [
      [this.#knownByKey, entry.key],
      [this.#suspectBySignature, entry.signature],
      ...[entry.signature, ...entry.moreSignatures].map((each) => [this.#knownBySignature, each] as const),
    ] as const) {
      if (map.get(key) === entry) map.delete(key)
    }
  }
}

const OWNER = 'new MemoryInbox'
const KNOWN = [
  'retentionMs',
  'discardedRetentionMs',
  'clock',
] as const satisfies readonly (keyof MemoryInboxOptions)[]

interface StoredEntry {
  readonly id: number
  state: InboxState
  callback: VerifiedCallback
  readonly key: string
  readonly bodyHash: string
  readonly signature: string
  readonly orderKey: string | undefined
  attempts: number
  token: number
  /** The token of the claim whose handlers began, until an end is recorded. */
  begunBy: number | undefined
  /** Set while it is stored, running or retrying. */
  dueAt: number | undefined
  /** When `dueAt` was set. */
  dueSetAt: number
  /** Whether nothing that shares its order key comes before it. */
  hasTurn: boolean
  finishedAt: number | undefined
  reason: string | undefined
  replayed: boolean
  copies: number
  readonly history: Entry['history'][number][]
  readonly moreSignatures: string[]
  /** Of all its signatures. */
  latestSignedAt: number
}

/** Of those that share an order key, the oldest may run, unless it is unhandled; while one is running, no other. */
function promoteNext(queue: ReadonlySet<StoredEntry>): void {
  const entries = [...queue]
  if (entries.some(({ state, hasTurn }) => hasTurn && state === 'running')) return
  const oldest = entries.reduce((a, b) => (a.id < b.id ? a : b))
  for (const entry of entries) entry.hasTurn = entry === oldest && entry.state !== 'unhandled'
}

function setDue(entry: StoredEntry, now: number, delayMs: number): void {
  entry.dueAt = now + delayMs
  entry.dueSetAt = now
}

function isInterrupted({ begunBy }: StoredEntry): boolean {
  return begunBy !== undefined
}

function fits(eventTypes: EventTypes, type: string): boolean {
  return eventTypes === 'any' || eventTypes.includes(type)
}

/** A to Z only, as SQLite does. */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function isPrunable(state: InboxState): boolean {
  return (PRUNABLE as readonly InboxState[]).includes(state)
}

function summaryOf(entry: StoredEntry): EntrySummary {
  const { id, state, callback, attempts, dueAt, hasTurn, finishedAt, reason, copies } = entry
  const { type: eventType, idempotencyKey, subscription, signedAt, receivedAt } = callback
  return {
    id,
    state,
    eventType,
    idempotencyKey,
    subscription,
    signedAt,
    receivedAt,
    attempts,
    dueAt: hasTurn ? new Date(dueAt!) : undefined,
    finishedAt: finishedAt === undefined ? undefined : new Date(finishedAt),
    reason,
    copies,
  }
}
