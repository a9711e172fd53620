import type { EntryId } from '../../callback/callback.js'
import type { ActResult, Entry, OperatorAction, OperatorRecord, RelatedEntry } from '../operations.js'
import { actionRefusal, changedRefusal, missingRefusal, type Decision } from '../operator-action.js'
import { MOVES } from '../states.js'
import { isRefusal, restoredDue, restoredEnd, undoneDecision, type EntryBefore } from '../undo.js'
import type { MemoryEntries } from './entries.js'
import { summaryOf, type MemoryEntry, signaturesOf } from './memory-entry.js'

export function show(entries: MemoryEntries, id: EntryId): Entry | undefined {
  const entry = entries.all.get(id)
  if (!entry) return undefined
  const { callback, headers, attemptHistory, history } = entry
  return {
    ...summaryOf(entry, entries.shownStates()(entry)),
    rawBody: Buffer.from(callback.rawBody),
    headers,
    traceContext: callback.traceContext,
    attemptHistory: [...attemptHistory],
    history: history.map(({ record }) => record),
  }
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
  decision: Decision,
  now: number,
): ActResult {
  const { by, reason, again, expected } = decision
  const entry = entries.all.get(id)
  if (!entry) return missingRefusal(id)
  const shown = summaryOf(entry, entries.shownStates()(entry))
  const changed = changedRefusal(shown, expected)
  if (changed !== undefined) return changed
  const record = { at: new Date(now), action, by, ...(reason !== undefined && { reason }) }
  if (action === 'undo') return undo(entries, entry, record, again)
  const refusal = actionRefusal(action, shown, related(entries, id), again)
  if (refusal !== undefined) return refusal
  const before = entryBefore(entries, entry)
  if (action === 'release') {
    entries.known.release(entry)
    // The type in the header is not signed: what the signature proves is the subscription.
    entry.callback = { ...entry.callback, type: entry.callback.subscription.eventTypeName }
  }
  entry.history.push({ record, before })
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

function undo(entries: MemoryEntries, entry: MemoryEntry, record: OperatorRecord, again: boolean): ActResult {
  const { known, unfinished } = entries
  const now = Number(record.at)
  const latest = entry.history.at(-1)
  const isKnown = known.isKnown(entry)
  const before = undoneDecision(
    { ...entry, known: isKnown },
    latest && { action: latest.record.action, before: latest.before },
    related(entries, entry.id),
    again,
  )
  if (isRefusal(before)) return before
  if (isKnown && !before.known) known.takeBack(entry)
  entry.callback = { ...entry.callback, type: before.eventType }
  entry.history.push({ record })
  entry.state = before.state
  entry.attempts = before.attempts
  entry.replayed = before.replayed
  entry.finishedAt = restoredEnd(before, now, entry.copies) ?? undefined
  const { dueAt, dueSetAt } = restoredDue(before, now)
  if (dueAt === null) unfinished.remove(entry)
  else unfinished.makeDue(entry, dueSetAt, dueAt - dueSetAt)
  return { done: true }
}

function entryBefore({ known }: MemoryEntries, entry: MemoryEntry): EntryBefore {
  const { state, callback, dueAt, dueSetAt, attempts, replayed, finishedAt, token, copies } = entry
  return {
    state,
    eventType: callback.type,
    dueAt: dueAt ?? null,
    dueSetAt,
    attempts,
    replayed,
    finishedAt: finishedAt ?? null,
    known: known.isKnown(entry),
    token,
    copies,
  }
}

/** What an entry shares with another one; undefined if nothing. */
function sharedBy(entry: MemoryEntry, other: MemoryEntry): RelatedEntry['shares'] | undefined {
  if (other === entry) return undefined
  const sharesKey = other.key === entry.key
  const signatures = signaturesOf(entry)
  const sharesSignature = signaturesOf(other).some((signature) => signatures.includes(signature))
  if (sharesKey && other.bodyHash === entry.bodyHash) return 'callback'
  if (sharesSignature) return 'signature'
  return sharesKey ? 'key' : undefined
}
