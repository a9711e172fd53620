/**
 * SQL that makes entries with these order keys unready if an older one with their key is unfinished. If a claim is about to take
 * such an entry, this waits for the claim, and sees that the entry is running.
 */
export function demotion(keys: string): string {
  return `UPDATE due AS holder SET ready = false
  WHERE holder.order_key = ANY (${keys}) AND holder.order_key IS NOT NULL AND holder.ready AND holder.state <> 'running'
    AND EXISTS (
      SELECT 1 FROM due AS older
      WHERE older.order_key = holder.order_key AND older.order_key IS NOT NULL AND older.id < holder.id
    )`
}

/** SQL that makes the oldest unfinished entry of each order key ready, unless another one with the key is. */
export function promotion(keys: string): string {
  return `UPDATE due SET ready = true WHERE id IN (
    SELECT (
      SELECT id FROM due WHERE order_key = given.key AND order_key IS NOT NULL ORDER BY id LIMIT 1
    )
    FROM unnest(${keys}) AS given (key)
    WHERE NOT EXISTS (
      SELECT 1 FROM due AS holder
      WHERE holder.order_key = given.key AND holder.order_key IS NOT NULL AND holder.ready
    )
  )`
}
