import { handledTypes, type AskedType } from '../handled-types.js'
import type { InboxState, StoredState } from '../states.js'
import type { Connection } from './connection.js'
import type { Reader } from './read-inbox-file.js'
import { distinctTypes } from './types-in-index.js'

/** Records that a worker asked for these types now. */
export function recordTypes(db: Connection, eventTypes: readonly string[], now: number): void {
  // A time that is still to come would be the latest one for as long: the clock has been set back since.
  if (eventTypes.length > 0) db.run('UPDATE handled_types SET seen_at = ?1 WHERE seen_at > ?1', now)
  for (const type of eventTypes) db.run(RECORD, type, now)
}

/** The types of stored and retrying entries that no worker has a handler for. */
export function unhandledTypes(db: Reader): ReadonlySet<string> {
  const asked = db.all<{ event_type: string; seen_at: number }>(
    'SELECT event_type, seen_at FROM handled_types',
  )
  const handled = handledTypes(
    asked.map(({ event_type: eventType, seen_at: seenAt }): AskedType => ({ eventType, seenAt })),
  )
  if (handled === 'any') return new Set()
  return new Set(UNFINISHED.flatMap((where) => distinctTypes(db, where)).filter((type) => !handled.has(type)))
}

/** The state that is reported for an entry. */
export function shownState(
  { state, event_type: eventType }: { readonly state: StoredState; readonly event_type: string },
  unhandled: ReadonlySet<string>,
): InboxState {
  return (state === 'stored' || state === 'retrying') && unhandled.has(eventType) ? 'unhandled' : state
}

/** Each has its own index, by which the types are found without reading the entries. */
const UNFINISHED = [
  'ready = 1 AND begun_by = 0',
  'ready = 1 AND begun_by > 0',
  'ready = 0 AND due_at IS NOT NULL',
]

const RECORD = `
  INSERT INTO handled_types (event_type, seen_at) VALUES (?, ?)
  ON CONFLICT (event_type) DO UPDATE SET seen_at = excluded.seen_at`
