import { PRUNABLE, type StoredState } from './states.js'

/** Copied entries have the id that they had: their order stays, and so does what their history says of other entries. */
type Id = number

/** What shows whether an entry has changed. An entry that is running counts as stored and due at the end of its lease. */
export interface EntryVersion {
  readonly id: Id
  /** The half of it that is stored, in Base64. */
  readonly signature: string
  readonly signedAt: number
  readonly state: CopiedState
  readonly known: boolean
  readonly eventType: string
  /** Grows with each claim. */
  readonly token: number
  readonly attempts: number
  readonly copies: number
  readonly replayed: boolean
  readonly finishedAt: number | null
  readonly dueAt: number | null
  /** The number of repeats that were signed anew. */
  readonly repeats: number
  /** The number of decisions of operators. */
  readonly decisions: number
  readonly bodyBytes: number
}

export type CopiedState = Exclude<StoredState, 'running'>

/** Everything that an inbox knows of an entry. Bytes are in Base64, times in milliseconds since 1970. */
export interface CopiedEntry extends Omit<EntryVersion, 'repeats' | 'decisions' | 'bodyBytes'> {
  readonly idempotencyKey: string
  readonly keyHash: string
  readonly bodyHash: string
  readonly dueSetAt: number | null
  /** The text that `orderBy` returned, or only its hash: PostgreSQL stores no more. */
  readonly order: { readonly text: string } | { readonly hash: string } | null
  /** The token of the claim whose handlers began, until an end is recorded; 0: none. */
  readonly begunBy: number
  readonly begunAt: number | null
  readonly handledAt: number | null
  // JSON: see attempt-history.ts, PastAttempt.
  readonly pastAttempts: string | null
  readonly receivedAt: number
  readonly reason: string | null
  readonly subscribedType: string
  readonly callbackUrl: string
  readonly description: string | null
  /** Null: the default. */
  readonly subscriptionId: string | null
  readonly secretFingerprint: string
  readonly bodyId: string | null
  readonly traceContext: string | null
  /** In the form of `storedHeaders`. */
  readonly headers: string | null
  readonly body: string
  readonly repeats: readonly { readonly signature: string; readonly signedAt: number }[]
  /** In their order. `before`: JSON of an EntryBefore. */
  readonly decisions: readonly {
    readonly at: number
    readonly action: string
    readonly person: string
    readonly reason: string | null
    readonly before: string | null
  }[]
}

export interface CopyMarks {
  /** The largest id that an entry has or had. */
  readonly lastId: Id
  /** The latest time of signing of what was deleted: what was signed no later may be a replay of it. */
  readonly deletedUntil: number | null
}

/** What a durable engine has, so that its entries can be copied into an inbox of any durable engine. Each method is one atomic step. */
export interface Copying {
  /** Whether arrivals wait for an entry only if it has the text of their order key, and not the hash alone. */
  readonly needsOrderText: boolean
  marks(): Promise<CopyMarks>
  /** Of the first `VERSIONS_PAGE` entries after this id, in the order of ids. */
  versions(afterId: Id): Promise<readonly EntryVersion[]>
  /** In the order of ids. Entries that were deleted meanwhile are left out. */
  read(ids: readonly Id[]): Promise<readonly CopiedEntry[]>
  /** Gives ids after `lastId` from now on, and remembers what was deleted. */
  mark(marks: CopyMarks): Promise<void>
  remove(ids: readonly Id[]): Promise<void>
  /** Stores entries whose ids, keys and signatures it does not have, oldest first. */
  write(entries: readonly CopiedEntry[]): Promise<void>
}

export const VERSIONS_PAGE = 1_000

export interface CopyOptions {
  /** Whether nothing uses the source any more. Only then unfinished entries are copied: two workers could have one of them otherwise. */
  readonly isStopped: boolean
  /** Called now and then with the number of entries that were compared or copied. */
  readonly onProgress: (done: number) => void
}

export interface CopyResult {
  readonly copied: number
  /** How many entries of the target were changed or deleted in the source since an earlier run. */
  readonly outdated: number
  /** How many unfinished entries were left in the source. */
  readonly left: number
  /** How many unfinished entries were copied without the text of their order key. */
  readonly withoutOrder: number
}

/** An entry of the target that no run for this source can have left there. */
export interface ForeignEntry {
  readonly foreignId: Id
  readonly why: 'other' | 'claimed'
}

/**
 * Makes the target equal to the source, which may be in use. A run that was ended in between is continued by the next one, and each
 * run brings what has changed since the one before. Memory does not depend on the number of entries.
 */
export async function copyEntries(
  source: Copying,
  target: Copying,
  options: CopyOptions,
): Promise<CopyResult | ForeignEntry> {
  const marks = await source.marks()
  const outdated = await removeOutdated(source, target, marks, options)
  if (typeof outdated !== 'number') return outdated
  await target.mark(marks)
  const copied = await copyMissing(source, target, options)
  // Entries may have been deleted meanwhile.
  await target.mark(await source.marks())
  return { ...copied, outdated }
}

/** Before anything is copied: what an outdated entry has, such as its key, may by now belong to another entry. */
async function removeOutdated(
  source: Copying,
  target: Copying,
  { deletedUntil }: CopyMarks,
  { onProgress }: CopyOptions,
): Promise<number | ForeignEntry> {
  let outdated = 0
  let ids: Id[] = []
  const remove = async () => {
    if (ids.length > 0) await target.remove(ids)
    outdated += ids.length
    ids = []
  }
  if ((await target.versions(0)).length === 0) return 0
  // Nothing is removed from an inbox that has other entries as well.
  for (const isRehearsal of [true, false]) {
    let done = 0
    let differ = false
    for await (const { own, copy } of pairs(source, target)) {
      if (++done % VERSIONS_PAGE === 0) onProgress(done)
      if (!copy || (own && isSame(own, copy))) continue
      differ = true
      if (!isRehearsal && ids.push(copy.id) >= BATCH_ENTRIES) await remove()
      const why = whyForeign(own, copy, deletedUntil)
      if (why) return { foreignId: copy.id, why }
    }
    await remove()
    if (!differ) break
  }
  return outdated
}

async function copyMissing(
  source: Copying,
  target: Copying,
  { isStopped, onProgress }: CopyOptions,
): Promise<Omit<CopyResult, 'outdated'>> {
  let [copied, left, withoutOrder, done, bytes] = [0, 0, 0, 0, 0]
  let ids: Id[] = []
  const copy = async () => {
    const entries = await source.read(ids)
    // One that an operator has had handled again meanwhile is unfinished.
    const taken = isStopped ? entries : entries.filter(({ state }) => !isUnfinished(state))
    if (taken.length > 0) await target.write(taken)
    copied += taken.length
    left += entries.length - taken.length
    if (target.needsOrderText)
      withoutOrder += taken.filter(
        ({ state, order }) => isUnfinished(state) && order && 'hash' in order,
      ).length
    ids = []
    bytes = 0
  }
  for await (const { own, copy: present } of pairs(source, target)) {
    if (++done % VERSIONS_PAGE === 0) onProgress(done)
    if (!own) continue
    if (!isStopped && isUnfinished(own.state)) left++
    else if (!present) {
      ids.push(own.id)
      bytes += own.bodyBytes
      if (ids.length >= BATCH_ENTRIES || bytes >= BATCH_BYTES) await copy()
    }
  }
  if (ids.length > 0) await copy()
  return { copied, left, withoutOrder }
}

/** What is copied at a time, and held in memory. A body may be larger. */
const BATCH_ENTRIES = 500
const BATCH_BYTES = 4_194_304

interface Pair {
  readonly own: EntryVersion | undefined
  readonly copy: EntryVersion | undefined
}

/** The entries of both inboxes, in the order of ids. */
async function* pairs(source: Copying, target: Copying): AsyncGenerator<Pair> {
  const owns = new Versions(source)
  const copies = new Versions(target)
  for (;;) {
    const own = await owns.peek()
    const copy = await copies.peek()
    if (!own && !copy) return
    const [ownId, copyId] = [own?.id ?? Infinity, copy?.id ?? Infinity]
    if (ownId <= copyId) owns.skip()
    if (copyId <= ownId) copies.skip()
    yield { own: ownId <= copyId ? own : undefined, copy: copyId <= ownId ? copy : undefined }
  }
}

class Versions {
  readonly #inbox: Copying
  #page: readonly EntryVersion[] = []
  #next = 0
  #afterId = 0
  #isLast = false

  constructor(inbox: Copying) {
    this.#inbox = inbox
  }

  async peek(): Promise<EntryVersion | undefined> {
    if (this.#next >= this.#page.length && !this.#isLast) {
      this.#page = await this.#inbox.versions(this.#afterId)
      this.#next = 0
      this.#afterId = this.#page.at(-1)?.id ?? this.#afterId
      this.#isLast = this.#page.length < VERSIONS_PAGE
    }
    return this.#page[this.#next]
  }

  skip(): void {
    this.#next++
  }
}

function isSame(one: EntryVersion, other: EntryVersion): boolean {
  return (Object.keys(one) as (keyof EntryVersion)[]).every((name) => one[name] === other[name])
}

function isUnfinished(state: CopiedState): boolean {
  return state === 'stored' || state === 'retrying'
}

/** Why the copy cannot be an earlier version of the entry; undefined if it can. */
function whyForeign(
  own: EntryVersion | undefined,
  copy: EntryVersion,
  deletedUntil: number | null,
): ForeignEntry['why'] | undefined {
  if (own) {
    if (own.signature !== copy.signature || own.signedAt !== copy.signedAt) return 'other'
    return copy.token > own.token ? 'claimed' : undefined
  }
  const states: readonly StoredState[] = PRUNABLE
  const mayBePruned = deletedUntil !== null && copy.signedAt <= deletedUntil && states.includes(copy.state)
  return mayBePruned ? undefined : 'other'
}
