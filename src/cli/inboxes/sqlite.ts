import { existsSync } from 'node:fs'
import { isMissing } from '../../base/is-missing.js'
import type { SqliteInboxOptions } from '../../inbox/sqlite/sqlite-inbox.js'
import { NO_ENTRIES } from '../../inbox/states.js'
import { UsageError } from '../io.js'
import { NOTHING_SIGNED, type ConfiguredInbox } from './configured-inbox.js'

/** What only some commands need. */
const reading = () => import('../../inbox/sqlite/read-inbox-file.js')

/** `written`: the file as the user wrote it. */
export function sqliteInbox(
  options: Omit<SqliteInboxOptions, 'clock' | 'logger'>,
  written: string,
): ConfiguredInbox {
  const { file } = options
  const checkExists = () => {
    if (!isMissing(file)) return
    const cure = 'name it with --inbox, or go where the configuration is'
    throw new UsageError(`there is no inbox ${written} (${file}): ${cure}`)
  }
  return {
    retention: options,
    name: async () => file,
    secrets: async () => [],
    async create({ clock, logger, retention, isBrief = false }) {
      const { SqliteInbox, IN_PROCESS } = await import('../../inbox/sqlite/sqlite-inbox.js')
      // To start a thread takes longer than most commands.
      const host = isBrief ? { [IN_PROCESS]: true } : {}
      return new SqliteInbox({ ...options, ...retention, ...host, clock, logger })
    },
    async check(log) {
      const { probeInboxFile } = await import('../../inbox/sqlite/probe-inbox-file.js')
      const { SCHEMA_VERSION } = await import('../../inbox/sqlite/schema.js')
      const { statsAtOnce } = await import('../../inbox/sqlite/stats.js')
      const { readInboxFile, schemaVersionOf } = await reading()
      await probeInboxFile(file, log)
      if (!existsSync(file)) return { entries: 'no file yet' }
      const version = await schemaVersionOf(file)
      // The tables that are counted may not exist yet.
      if (version > 0 && version < SCHEMA_VERSION) return { entries: 'older schema' }
      return { entries: (await readInboxFile(file, statsAtOnce)) ?? { counts: NO_ENTRIES } }
    },
    async checkIsThere() {
      checkExists()
      await (await reading()).refuseOlderFile(file)
    },
    async schemaVersion() {
      checkExists()
      return (await reading()).schemaVersionOf(file)
    },
    async migrationSql() {
      throw new UsageError(
        `--print is for an inbox in a database, and the file ${written} is brought up to date without it: ` +
          'name the database in the configuration or in COUNTERSIGN_INBOX',
      )
    },
    async lastSigned(secrets) {
      checkExists()
      const { lastSigned } = await import('../../inbox/sqlite/last-signed.js')
      const { readInboxFile } = await reading()
      return (await readInboxFile(file, (db) => lastSigned(db, secrets))) ?? NOTHING_SIGNED
    },
  }
}
