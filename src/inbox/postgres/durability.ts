import type { Logger } from '../../logging/logger.js'
import type { Connection } from './connections.js'

/**
 * Warns of settings of the server with which a crash of its machine may lose what it has committed. `synchronous_commit` is
 * not among them, as the inbox sets it for each of its transactions.
 */
export async function warnIfNotDurable(connection: Connection, logger: Logger): Promise<void> {
  const settings = await settingsThatMayLose(connection)
  if (settings.length === 0) return
  const message =
    `PostgreSQL runs with ${settings.join(' and ')} off: callbacks that were answered 200 may be lost, and the database ` +
    'damaged, when its machine fails. Turn the setting on'
  logger.warn({ code: 'WARN_NOT_DURABLE', settings }, message)
}

/** The names of those settings that are off. */
export async function settingsThatMayLose(connection: Connection): Promise<string[]> {
  const { rows } = await connection.query(
    "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name",
  )
  return (rows as { name: string }[]).map(({ name }) => name)
}
