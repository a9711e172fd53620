import { searchInSteps, countInSteps } from '../search.js'
import type { Arrival, BeginOnArrival, ClaimEntries, EngineFilter } from '../engine.js'
import { type ActivityRange, ACTIVITY_STATES, ActivityCounts, type ActivityBucket } from '../activity.js'
import type { EntryId } from '../../callback/callback.js'
import type { CopiedEntry, CopyMarks } from '../copy.js'
import type { EntryPage, PruneEntries } from '../operations.js'
import type { Retention } from '../retention.js'
import type { TimesCorrection, UnfinishedEntry } from '../times-correction.js'
import { act } from './act.js'
import { claim, renew, requeueUnhandled, setTimesAnew, settle } from './claims.js'
import type { Connection } from './connection.js'
import { mark, marks, readEntries, removeEntries, versions, writeEntries } from './copy.js'
import { recordTypes } from './handled-types.js'
import { related, show } from './operator.js'
import { idsToPrune, prune } from './prune.js'
import { countStep, EXAMINED_BY_STEP, searchStep } from './search.js'
import { stats } from './stats.js'
import { countLastRange, inParts, type EndedRange } from './count-ended.js'
import { inSteps, type ReadStep } from './in-steps.js'
import { probeNonceBytes } from '../identity.js'

/** A callback to store. */
export interface ArrivalToStore extends Omit<Arrival, 'headers' | 'awaitedUntil'> {
  /** In the form of `storedHeaders`. */
  readonly headers: string | null
  readonly begin: BeginOnArrival | undefined
}

/** What a claim does besides: see `AskedTypes` and `InboxClock`. */
export interface ClaimWork {
  readonly request: ClaimEntries
  /** The types to record as handled ones. */
  readonly types: readonly string[]
  readonly requeues: boolean
  /** Set if times have to be corrected because the clock was set back. */
  readonly correction: { readonly at: UnfinishedEntry | undefined } | undefined
}

/** What changes the file. Each is synchronous, so that one transaction can have many. */
export const WRITES = {
  claim(db: Connection, now: number, { request, types, requeues, correction }: ClaimWork) {
    const corrected: TimesCorrection | undefined = correction && setTimesAnew(db, now, correction.at)
    recordTypes(db, types, now)
    if (requeues) requeueUnhandled(db, now)
    return { claims: claim(db, now, request), corrected }
  },
  renew,
  settle,
  act,
  prune,
  copyMark: (db: Connection, _now: number, given: CopyMarks) => mark(db, given),
  copyRemove: (db: Connection, _now: number, ids: readonly number[]) => removeEntries(db, ids),
  copyWrite: (db: Connection, _now: number, entries: readonly CopiedEntry[]) => writeEntries(db, entries),
  /** Returns false if the nonce is known. It is stored like the signature of an entry that does not exist. */
  rememberProbe(db: Connection, _now: number, nonce: string, sentAtMs: number, forgetBeforeMs: number) {
    db.run('DELETE FROM more_signatures WHERE entry_id = 0 AND signed_at < ?', forgetBeforeMs)
    const { changes } = db.run(
      'INSERT INTO more_signatures (signature, entry_id, signed_at) VALUES (?, 0, ?) ON CONFLICT DO NOTHING',
      probeNonceBytes(nonce),
      sentAtMs,
    )
    return changes === 1
  },
} as const

export type Writes = typeof WRITES

/** One write with its arguments. */
export type Write = {
  [Name in keyof Writes]: readonly [name: Name, ...ArgumentsOf<Writes[Name]>]
}[keyof Writes]

/** Reads in one step. What has been committed before is seen. */
export type Read = <Result>(step: (db: Connection) => Result) => Promise<Result>

/** What only reads: in short steps, with writes between them. */
export const READS = {
  stats,
  activity,
  list(read: Read, filter: EngineFilter, page: EntryPage) {
    const step = (afterId: EntryId | undefined, limit: number) =>
      read((db) => searchStep(db, filter, { ...page, afterId, limit }))
    return searchInSteps(page, step, EXAMINED_BY_STEP)
  },
  count(read: Read, filter: EngineFilter, max: number) {
    const step = (afterId: EntryId | undefined) => read((db) => countStep(db, filter, afterId))
    return countInSteps(max, step, EXAMINED_BY_STEP)
  },
  show: (read: Read, id: EntryId) => read((db) => show(db, id)),
  related: (read: Read, id: EntryId) => read((db) => related(db, id)),
  prunable: (read: Read, request: PruneEntries, retention: Retention, now: number) =>
    read((db) => idsToPrune(db, request, retention, now).length),
  copyMarks: (read: Read) => read(marks),
  copyVersions: (read: Read, afterId: number) => read((db) => versions(db, afterId)),
  copyRead: (read: Read, ids: readonly number[]) => read((db) => readEntries(db, ids)),
  /** Whether the file can be opened. */
  nothing: (read: Read) => read(() => {}),
} as const

export type Reads = typeof READS

export type ReadArguments<Name extends keyof Reads> =
  Parameters<Reads[Name]> extends [unknown, ...infer Rest] ? Rest : never

type ArgumentsOf<Operation> = Operation extends (db: Connection, now: number, ...rest: infer Rest) => unknown
  ? Rest
  : never

/** Counts by the indexes on the ends of entries, in steps. */
async function activity(read: ReadStep, request: ActivityRange): Promise<readonly ActivityBucket[]> {
  const counts = new ActivityCounts(request)
  const ranges = ACTIVITY_STATES.flatMap((state) =>
    inParts(counts.ranges.map((range): EndedRange => ({ state, ...range }))),
  )
  await inSteps(
    read,
    () => ranges.length === 0,
    (db) => countLastRange(db, ranges, (state, from, count) => counts.add(state, from, count)),
  )
  return counts.result()
}
