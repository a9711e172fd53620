import type { EntryId } from '../../callback/callback.js'
import type { ActResult, Entry, OperatorAction, RelatedEntry } from '../operations.js'
import { actionRefusal, missingRefusal } from '../operator-action.js'
import { MOVES } from '../states.js'
import type { MemoryEntries } from './entries.js'
import { summaryOf } from './memory-entry.js'
import { sharedBy } from './related-entries.js'

export function show(entries: MemoryEntries, id: EntryId): Entry | undefined {
  const entry = entries.all.get(id)
  if (!entry) return undefined
  const summary = summaryOf(entry, entries.shownStates()(entry))
  return { ...summary, rawBody: entry.callback.rawBody, history: [...entry.history] }
}

export function related(entries: MemoryEntries, id: EntryId): RelatedEntry[] {
  const entry = entries.all.get(id)
  if (!entry) return []
  const stateOf = entries.shownStates()
  return [...entries.all.values()].flatMap((other) => {
    const shares = sharedBy(entry, other)
    if (shares === undefined) return []
    const accepted = other.replayed || entries.known.isKnown(other)
    return { id: other.id, state: stateOf(other), shares, accepted }
  })
}

export function act(
  entries: MemoryEntries,
  id: EntryId,
  action: OperatorAction,
  { by, now, again }: { by: string; now: number; again: boolean },
): ActResult {
  const entry = entries.all.get(id)
  if (!entry) return missingRefusal(id)
  const shown = { id, state: entries.shownStates()(entry) }
  const refusal = actionRefusal(action, shown, related(entries, id), again)
  if (refusal !== undefined) return refusal
  if (action === 'release') {
    entries.known.release(entry)
    // The type in the header is not signed: what the signature proves is the subscription.
    entry.callback = { ...entry.callback, type: entry.callback.subscription.eventTypeName }
  }
  entry.history.push({ at: new Date(now), action, by })
  entry.state = MOVES[action].to
  if (action === 'discard') {
    entries.end(entry, now)
  } else {
    entry.attempts = 0
    entry.replayed = true
    entry.finishedAt = undefined
    entries.unfinished.makeDue(entry, now)
  }
  return { done: true }
}
