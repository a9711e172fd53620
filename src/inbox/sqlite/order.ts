import type { Connection } from './connection.js'

/**
 * Makes the oldest entry of an order key ready. While another one is running, that one stays the only one. To be called
 * whenever an entry with the order key becomes due or ends.
 */
export function promoteNext(db: Connection, orderKey: string): void {
  const ready = db.get<{ id: number; state: string }>(
    'SELECT id, state FROM entries WHERE order_key = ? AND ready = 1',
    orderKey,
  )
  if (ready?.state === 'running') return
  // With this condition SQLite uses the index entries_in_order.
  const oldest = db.get<{ id: number }>(
    `SELECT id FROM entries WHERE order_key = ? AND order_key IS NOT NULL AND due_at IS NOT NULL ORDER BY id LIMIT 1`,
    orderKey,
  )
  if (ready?.id === oldest?.id) return
  if (ready) db.run('UPDATE entries SET ready = 0 WHERE id = ?', ready.id)
  if (oldest) db.run('UPDATE entries SET ready = 1 WHERE id = ?', oldest.id)
}
