import { existsSync } from 'node:fs'
import type { InboxStats } from '../../inbox/operations.js'
import { NO_ENTRIES } from '../../inbox/states.js'
import type { DatabaseState } from '../../inbox/postgres/look-at-database.js'
import type { Logger } from '../../logging/logger.js'
import { statsAtOnce } from '../../inbox/sqlite/stats.js'
import { probeInboxFile } from '../../inbox/sqlite/probe-inbox-file.js'
import { readInboxFile, schemaVersionOf } from '../../inbox/sqlite/read-inbox-file.js'
import { SCHEMA_VERSION } from '../../inbox/sqlite/schema.js'
import type { ReadyInboxSetting } from './inbox-setting.js'

/** How many entries the inbox holds; null if there is no inbox, or one of the application. */
export type InboxEntries =
  InboxStats | 'no file yet' | 'no schema yet' | 'older schema' | 'not readable' | null

interface CheckedInbox {
  readonly entries: InboxEntries
  /** The database that was connected to. */
  readonly database?: DatabaseState | undefined
}

/**
 * Checks that the inbox can be used, and counts its entries. The inbox is neither created nor migrated, because another
 * receiver may use it.
 * @throws CountersignError as the receiver's start would
 */
export async function checkInbox(inbox: ReadyInboxSetting, log: Logger): Promise<CheckedInbox> {
  if (inbox.kind === 'postgres') return checkDatabase(inbox, log)
  if (inbox.kind !== 'sqlite') return { entries: null }
  const { file } = inbox.options
  await probeInboxFile(file, log)
  if (!existsSync(file)) return { entries: 'no file yet' }
  const version = await schemaVersionOf(file)
  // The tables that are counted may not exist yet.
  if (version > 0 && version < SCHEMA_VERSION) return { entries: 'older schema' }
  return { entries: (await readInboxFile(file, statsAtOnce)) ?? { counts: NO_ENTRIES } }
}

async function checkDatabase(
  { connectionString, options }: Extract<ReadyInboxSetting, { kind: 'postgres' }>,
  log: Logger,
): Promise<CheckedInbox> {
  const { checkMayMigrate, databaseState } = await import('../../inbox/postgres/look-at-database.js')
  const { PostgresInbox } = await import('../../inbox/postgres/postgres-inbox.js')
  const { schema, busyTimeoutMs } = options
  const database = await databaseState({ connectionString, schema, busyTimeoutMs })
  checkMayMigrate(database, schema)
  if (database.notDurable.length > 0) {
    const settings = database.notDurable.join(' and ')
    const message = `the database server runs with ${settings} off: callbacks that were answered 200 may be lost`
    log.warn({ code: 'WARN_NOT_DURABLE' }, message)
  }
  if (database.schemaVersion === 0) return { entries: 'no schema yet', database }
  if (database.schemaVersion < database.neededVersion) return { entries: 'older schema', database }
  const inbox = new PostgresInbox({ ...options, connectionString, logger: false })
  try {
    return { entries: await inbox.stats(), database }
  } finally {
    await inbox.close()
  }
}
