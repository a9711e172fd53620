import type { EntryId } from '../../callback/callback.js'
import { handledTypes } from '../handled-types.js'
import type { Arrival } from '../engine.js'
import type { StoredState } from '../states.js'
import { KnownCallbacks } from './known-callbacks.js'
import { shownStates, type StateOf } from './look.js'
import { createEntry, type MemoryEntry } from './memory-entry.js'
import { UnfinishedEntries } from './unfinished-entries.js'

/** All that a MemoryInbox holds. */
export class MemoryEntries {
  /** In the order of arrival. */
  readonly all = new Map<EntryId, MemoryEntry>()
  readonly unfinished = new UnfinishedEntries()
  readonly known = new KnownCallbacks()
  /** When workers last asked for each type. */
  readonly typesSeenAt = new Map<string, number>()
  #lastSequence = 0

  insert(arrival: Arrival, state: StoredState): MemoryEntry {
    const entry = createEntry(arrival, ++this.#lastSequence, state)
    this.all.set(entry.id, entry)
    return entry
  }

  end(entry: MemoryEntry, now: number): void {
    this.unfinished.remove(entry)
    entry.finishedAt = now
  }

  delete(entry: MemoryEntry): void {
    this.all.delete(entry.id)
    this.known.delete(entry)
  }

  /** The event types that workers have handlers for. */
  handledTypes(): ReadonlySet<string> | 'any' {
    return handledTypes([...this.typesSeenAt].map(([eventType, seenAt]) => ({ eventType, seenAt })))
  }

  /** A function, so that the handled types are determined once for many entries. */
  shownStates(): StateOf {
    return shownStates(this.handledTypes())
  }
}
