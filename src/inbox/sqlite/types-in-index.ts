import type { Reader } from './read-inbox-file.js'

/**
 * The event types of the entries that a partial index on the event type holds; `where` is the condition of that index. Each
 * step seeks the next type in the index, so the cost does not depend on the number of entries.
 */
export function distinctTypes(db: Reader, where: string): string[] {
  const sql = `
    WITH RECURSIVE types (type) AS (
      SELECT min(event_type) FROM entries WHERE ${where}
      UNION ALL
      SELECT (SELECT min(event_type) FROM entries WHERE ${where} AND event_type > type)
      FROM types WHERE type IS NOT NULL
    )
    SELECT type FROM types WHERE type IS NOT NULL`
  return db.all<{ type: string }>(sql).map(({ type }) => type)
}
