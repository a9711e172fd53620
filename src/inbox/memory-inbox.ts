import type { EntryId } from '../callback/callback.js'
import type { HasAll } from '../base/has-all.js'
import { environmentOf } from '../base/environment.js'
import { checkKnownOptions, clockOption } from '../base/option-checks.js'
import type { ActivityBucket, ActivityRange } from './activity.js'
import { AskedTypes } from './handled-types.js'
import type {
  EngineFilter,
  AddResult,
  Arrival,
  BeginOnArrival,
  ClaimEntries,
  Claims,
  ClaimToken,
  EventTypes,
  InboxEngine,
  InboxOpener,
  SettledClaim,
} from './engine.js'
import type { PruneEntries } from './operations.js'
import type {
  ActResult,
  Entry,
  EntryCount,
  EntryPage,
  EntryList,
  EntrySummary,
  InboxStats,
  OperatorAction,
  RelatedEntry,
} from './operations.js'
import { InboxClock } from './inbox-clock.js'
import { Inbox } from './inbox.js'
import { InboxOpeners } from './inbox-openers.js'
import { add } from './memory/add.js'
import { begin, claim, extend, requeueUnhandled, setTimesAnew, settle } from './memory/claims.js'
import { MemoryEntries } from './memory/entries.js'
import { activityOf, listOf, statsOf } from './memory/look.js'
import type { MemoryEntry } from './memory/memory-entry.js'
import { act, related, show } from './memory/operator.js'
import { entriesToPrune } from './memory/prune.js'
import type { Decision } from './operator-action.js'
import { RETENTION_OPTIONS, retentionOptions, type RetentionOptions } from './retention.js'
import { DEFAULT_PAGE_LIMIT } from './search.js'

export interface MemoryInboxOptions extends RetentionOptions {
  /**
   * The current time, in milliseconds since 1970.
   * @default Date.now
   */
  readonly clock?: (() => number) | undefined
}

/** An inbox in the memory of this process, for tests and first steps. Its entries are lost when the process ends. */
export class MemoryInbox extends Inbox {
  constructor(options: MemoryInboxOptions = {}) {
    super(new MemoryEngine(options))
  }
}

class MemoryEngine implements InboxEngine {
  readonly retentionMs: number
  readonly discardedRetentionMs: number
  readonly #clock: InboxClock
  readonly #entries = new MemoryEntries()
  readonly #askedTypes = new AskedTypes()
  /** By nonce, the times when probes were sent. */
  readonly #probes = new Map<string, number>()
  readonly #openers = new InboxOpeners()

  constructor(options: MemoryInboxOptions = {}) {
    checkKnownOptions(OWNER, options, KNOWN)
    const { retentionMs, discardedRetentionMs } = retentionOptions(OWNER, options)
    this.retentionMs = retentionMs
    this.discardedRetentionMs = discardedRetentionMs
    this.#clock = new InboxClock(clockOption(OWNER, options.clock, environmentOf(options).now))
  }

  // The methods are async so that a throw becomes a rejection. None may await: each is one atomic step.
  async open(opener?: InboxOpener): Promise<void> {
    await this.#openers.open(opener, async () => {})
  }

  async add(arrival: Arrival, begin?: BeginOnArrival): Promise<AddResult> {
    return add(this.#entries, arrival, begin, this.#clock.now())
  }

  async claim(request: ClaimEntries): Promise<Claims> {
    const now = this.#clock.now()
    const clockSetBackMs = this.#setTimesAnew(now)
    this.#recordTypes(request.eventTypes, now)
    return { ...claim(this.#entries, request, now), clockSetBackMs }
  }

  async begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return idsOf(begin(this.#entries, claims, leaseMs, this.#clock.now()))
  }

  async extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return idsOf(extend(this.#entries, claims, leaseMs, this.#clock.now()))
  }

  async settle(ends: readonly SettledClaim[]): Promise<ReadonlySet<EntryId>> {
    const now = this.#clock.now()
    return idsOf(ends.map((end) => settle(this.#entries, end, now)).filter((entry) => entry !== undefined))
  }

  async stats(): Promise<InboxStats> {
    return statsOf(this.#entries.all.values(), this.#entries.shownStates())
  }

  async list(filter: EngineFilter, page: EntryPage): Promise<EntryList> {
    const entries = this.#list(filter, page)
    const isFull = entries.length === (page.limit ?? DEFAULT_PAGE_LIMIT)
    return isFull && entries.length > 0 ? { entries, next: entries.at(-1)!.id } : { entries }
  }

  async count(filter: EngineFilter, max: number): Promise<EntryCount> {
    const { length } = this.#list(filter, { limit: max + 1 })
    return { count: Math.min(length, max), more: length > max }
  }

  async activity(request: ActivityRange): Promise<readonly ActivityBucket[]> {
    return activityOf(this.#entries.all.values(), request)
  }

  async show(id: EntryId): Promise<Entry | undefined> {
    return show(this.#entries, id)
  }

  async related(id: EntryId): Promise<RelatedEntry[]> {
    return related(this.#entries, id)
  }

  async act(id: EntryId, action: OperatorAction, decision: Decision): Promise<ActResult> {
    return this.#openers.decide(id, action, decision, async () =>
      act(this.#entries, id, action, decision, this.#clock.now()),
    )
  }

  async prune(request: PruneEntries): Promise<number> {
    const old = entriesToPrune(this.#entries, request, this, this.#clock.now())
    if (!request.dryRun) for (const entry of old) this.#entries.delete(entry)
    return old.length
  }

  async rememberProbe(nonce: string, sentAtMs: number, forgetBeforeMs: number): Promise<boolean> {
    for (const [other, at] of this.#probes) if (at < forgetBeforeMs) this.#probes.delete(other)
    const isNew = !this.#probes.has(nonce)
    if (isNew) this.#probes.set(nonce, sentAtMs)
    return isNew
  }

  async close(opener?: InboxOpener): Promise<void> {
    await this.#openers.close(opener, async () => {})
  }

  #list(filter: EngineFilter, page: EntryPage): EntrySummary[] {
    return listOf(this.#entries.all.values(), filter, page, this.#entries.shownStates())
  }

  #recordTypes(eventTypes: EventTypes, now: number): void {
    const types = this.#askedTypes.toRecord(eventTypes, now)
    for (const type of types) this.#entries.typesSeenAt.set(type, now)
    if (types.length === 0) return
    if (this.#askedTypes.wereRecordedLately(eventTypes, now)) requeueUnhandled(this.#entries, now)
    this.#askedTypes.recorded(eventTypes, now)
  }

  #setTimesAnew(now: number): number | undefined {
    const steps = this.#clock.unhandledSteps
    return steps === 0 ? undefined : this.#clock.handled(steps, { aheadMs: setTimesAnew(this.#entries, now) })
  }
}

const OWNER = 'new MemoryInbox'
const KNOWN = [...RETENTION_OPTIONS, 'clock'] as const satisfies readonly (keyof MemoryInboxOptions)[]
void (true satisfies HasAll<keyof MemoryInboxOptions, typeof KNOWN>)

function idsOf(entries: readonly MemoryEntry[]): ReadonlySet<EntryId> {
  return new Set(entries.map(({ id }) => id))
}
