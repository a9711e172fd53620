import type { EntryId } from '../callback/callback.js'
import type { OperatorAction, RelatedEntry } from './operations.js'
import { refusal, repeatRefusal, type ActRefusal } from './operator-action.js'
import { MOVES, type StoredState } from './states.js'

/** The fields of an entry before a decision. Times are in milliseconds since 1970. */
export interface EntryBefore {
  readonly state: StoredState
  readonly eventType: string
  readonly dueAt: number | null
  readonly dueSetAt: number
  readonly attempts: number
  readonly replayed: boolean
  readonly finishedAt: number | null
  readonly known: boolean
  /** Claims change `token`, and repeats change `copies`. Decisions change neither, so these show what has happened since. */
  readonly token: number
  readonly copies: number
}

/** An item of an entry's history. */
interface RecordedDecision {
  readonly action: OperatorAction
  /** Undefined of an undo. */
  readonly before?: EntryBefore | undefined
}

/** A decision as SQL inboxes store it. */
export interface StoredDecision {
  readonly action: OperatorAction
  /** JSON of an `EntryBefore`. Null of an undo. */
  readonly before: string | null
}

export function decisionIn({ action, before }: StoredDecision): RecordedDecision {
  return { action, before: before === null ? undefined : (JSON.parse(before) as EntryBefore) }
}

/** The fields of the entry now. */
interface UndoneEntry extends Pick<EntryBefore, 'state' | 'known' | 'token' | 'copies'> {
  readonly id: EntryId
}

/**
 * The fields to restore, or why the latest decision cannot be taken back. As for a retry, it is refused if the callback would be
 * handled a second time, unless `again` is set.
 */
export function undoneDecision(
  entry: UndoneEntry,
  latest: RecordedDecision | undefined,
  related: readonly RelatedEntry[],
  again: boolean,
): EntryBefore | ActRefusal {
  const { id } = entry
  if (!latest?.before || latest.action === 'undo')
    return refusal('state', `entry ${id} has no decision that could be taken back`)
  const { action, before } = latest
  if (entry.token !== before.token || entry.state !== MOVES[action].to)
    return refusal(
      'state',
      `a worker has claimed entry ${id} since the ${action}, which cannot be taken back now`,
    )
  // The repeat was answered as a duplicate of this entry, or is in quarantine because of it. It relies on this decision.
  const isRepeated = entry.copies !== before.copies || related.some(({ shares }) => shares === 'signature')
  if (entry.known !== before.known && isRepeated)
    return refusal(
      'state',
      `a repeat of entry ${id} has arrived since the ${action}, and was recognised by it; discard the entry instead`,
    )
  const isDueAgain = before.dueAt !== null && entry.state === 'discarded'
  return (isDueAgain && !again && repeatRefusal('retry', related)) || before
}

export function isRefusal(undone: EntryBefore | ActRefusal): undone is ActRefusal {
  return 'done' in undone
}

/** When the entry is due after undo. If the clock has been set back since, the delay counts from now. */
export function restoredDue({ dueAt, dueSetAt }: EntryBefore, now: number) {
  const setAt = Math.min(dueSetAt, now)
  return { dueAt: dueAt === null ? null : setAt + (dueAt - dueSetAt), dueSetAt: setAt }
}

/** When the entry ended. It is now if a repeat has arrived since: later repeats must be recognised for the full retention. */
export function restoredEnd(
  { finishedAt, copies }: EntryBefore,
  now: number,
  copiesNow: number,
): number | null {
  if (finishedAt === null) return null
  return copiesNow === copies ? Math.min(finishedAt, now) : now
}
