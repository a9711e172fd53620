import type { Connection } from './connection.js'

/**
 * Which entries hold a place in the order of their key: those that are unfinished, and those that are unhandled, as another
 * process may have their handler. In these words, for SQLite to use the index that was made with them.
 */
const HAS_PLACE = "order_key IS NOT NULL AND (due_at IS NOT NULL OR state = 'unhandled')"

/**
 * Lets the oldest entry of an order key have its turn, unless it is unhandled; while one is running, no other. To be called
 * whenever an entry has taken a place in the order of the key, or has given it up.
 */
export function promoteNext(db: Connection, orderKey: string): void {
  const holder = db.get<{ id: number; state: string }>(
    'SELECT id, state FROM entries WHERE order_key = ? AND ready = 1',
    orderKey,
  )
  if (holder?.state === 'running') return
  const oldest = db.get<{ id: number; state: string }>(
    `SELECT id, state FROM entries WHERE order_key = ? AND ${HAS_PLACE} ORDER BY id LIMIT 1`,
    orderKey,
  )
  const next = oldest?.state === 'unhandled' ? undefined : oldest
  if (holder?.id === next?.id) return
  if (holder) db.run('UPDATE entries SET ready = 0 WHERE id = ?', holder.id)
  if (next) db.run('UPDATE entries SET ready = 1 WHERE id = ?', next.id)
}
