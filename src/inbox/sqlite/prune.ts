import type { PruneEntries } from '../operations.js'
import { deletableBefore, type Retention } from '../retention.js'
import type { Connection } from './connection.js'
import type { Reader } from './read-inbox-file.js'

/** Deletes old entries. Returns their number. */
export function prune(db: Connection, now: number, request: PruneEntries, retention: Retention): number {
  const ids = idsToPrune(db, request, retention, now)
  for (const id of ids) {
    db.run(RECORD_DELETED, id)
    db.run('DELETE FROM more_signatures WHERE entry_id = ?', id)
    db.run('DELETE FROM history WHERE entry_id = ?', id)
    db.run('DELETE FROM entries WHERE id = ?', id)
  }
  return ids.length
}

/** Whether an entry was deleted that was signed at this time or later, so that this may be a replay of it. */
export function isForgotten(db: Reader, signedAt: number): boolean {
  return db.get('SELECT 1 FROM deleted WHERE signed_at >= ?', signedAt) !== undefined
}

export function idsToPrune(db: Reader, request: PruneEntries, retention: Retention, now: number): number[] {
  const latestSignedAt = db.get<{ at: number | null }>(LATEST_SIGNED, now)?.at ?? undefined
  const end = deletableBefore(request, { now, latestSignedAt }, retention)
  if (!Number.isFinite(end)) return []
  return db.all<{ id: number }>(ENDED, request.state, end, request.limit).map(({ id }) => id)
}

// A time that the service has signed counts no further than the time of arrival: one that was signed far in the future
// must not take the second clock ahead. A hundred of those that were signed latest are enough, as a time that is too
// early only keeps more.
const LATEST_SIGNED = `
  SELECT max(min(signed_at, received_at)) AS at FROM (
    SELECT signed_at, received_at FROM entries WHERE signed_at <= ? ORDER BY signed_at DESC LIMIT 100
  )`

const RECORD_DELETED = `
  INSERT INTO deleted (only_row, signed_at)
  SELECT 1, max(signed_at) FROM (
    SELECT signed_at FROM entries WHERE id = ?1
    UNION ALL SELECT signed_at FROM more_signatures WHERE entry_id = ?1
  ) WHERE true
  ON CONFLICT (only_row) DO UPDATE SET signed_at = max(signed_at, excluded.signed_at)`

const ENDED = `
  SELECT id FROM entries
  WHERE state = ?1 AND finished_at < ?2 AND signed_at < ?2
    AND NOT EXISTS (SELECT 1 FROM more_signatures WHERE entry_id = entries.id AND signed_at >= ?2)
  ORDER BY finished_at, id LIMIT ?3`
