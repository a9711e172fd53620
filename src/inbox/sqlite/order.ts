import type { Connection } from './connection.js'

/**
 * Lets the oldest unfinished entry of an order key have its turn; while one is running, no other. To be called whenever
 * an entry of the key has become unfinished or finished.
 */
export function giveTurn(db: Connection, orderKey: string): void {
  const holder = db.get<{ id: number; state: string }>(
    'SELECT id, state FROM entries WHERE order_key = ? AND ready = 1',
    orderKey,
  )
  if (holder?.state === 'running') return
  const oldest = db.get<{ id: number }>(
    'SELECT id FROM entries WHERE order_key = ? AND due_at IS NOT NULL ORDER BY id LIMIT 1',
    orderKey,
  )
  if (holder?.id === oldest?.id) return
  if (holder) db.run('UPDATE entries SET ready = 0 WHERE id = ?', holder.id)
  if (oldest) db.run('UPDATE entries SET ready = 1 WHERE id = ?', oldest.id)
}
