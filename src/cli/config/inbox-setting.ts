import { dirname, resolve } from 'node:path'
import { isInbox, type Inbox } from '../../inbox/inbox.js'
import type { SqliteInboxOptions } from '../../inbox/sqlite/sqlite-inbox.js'
import type { PostgresInboxOptions } from '../../inbox/postgres/options.js'
import { schemaName } from '../../inbox/postgres/schema-name.js'
import type { Logger } from '../../logging/logger.js'
import { checkKnownOptions, invalidOption } from '../../base/option-checks.js'
import type { ConfigFile } from './config-file.js'
import {
  connectionStringOf,
  isConnectionString,
  refusePassword,
  refuseSpaceAroundName,
  refuseWrongUrl,
  type ConnectionStringReference,
} from './connection-string.js'

/** The inbox is created only with the receiver: reading a configuration must not create a file. */
export type InboxSetting =
  | { readonly kind: 'none' }
  | { readonly kind: 'own'; readonly inbox: Inbox }
  | { readonly kind: 'sqlite'; readonly options: Omit<SqliteInboxOptions, 'clock' | 'logger'> }
  | DatabaseSetting

interface DatabaseSetting {
  readonly kind: 'postgres'
  /** It is looked up only when it is used: to print the SQL of the migrations, for example, it is not needed. */
  readonly connectionString: ConnectionStringReference
  readonly options: DatabaseOptions
}

export type DatabaseOptions = Omit<PostgresInboxOptions, 'pool' | 'connectionString' | 'logger'>

export const DEFAULT_FILE = 'callbacks.db'
const FILE_OPTIONS = ['file', 'retentionMs', 'discardedRetentionMs', 'busyTimeoutMs'] as const
const DATABASE_OPTIONS = [
  'connectionString',
  'schema',
  'maxConnections',
  'retentionMs',
  'discardedRetentionMs',
  'busyTimeoutMs',
] as const

/**
 * The `inbox` option: `false` or the word `none`, a file name, `{ file, ... }`, a connection string of PostgreSQL,
 * `{ postgres: { connectionString, ... } }`, or an inbox. The default is an inbox in a file, because the service's
 * retries are not documented, unless there is a `store`.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function inboxSetting(
  { inbox, store }: { readonly inbox?: unknown; readonly store?: unknown },
  { name, path }: ConfigFile,
  origin: (option: string) => string,
): InboxSetting {
  if (inbox === false || inbox === 'none' || (inbox === undefined && store !== undefined))
    return { kind: 'none' }
  const beside = (file: string) => resolve(dirname(path), file)
  if (inbox === undefined) return { kind: 'sqlite', options: { file: beside(DEFAULT_FILE) } }
  if (typeof inbox === 'string') refuseSpaceAroundName(inbox, origin('inbox'), 'inbox')
  if (typeof inbox === 'string' && isConnectionString(inbox)) {
    const where = origin('inbox')
    if (where.startsWith('--')) refusePassword(inbox, where)
    refuseWrongUrl(inbox, where, 'inbox')
    return { kind: 'postgres', connectionString: inbox, options: {} }
  }
  if (typeof inbox === 'string' && inbox !== '') {
    // On the command line a relative name starts from the current folder, as for all options.
    return { kind: 'sqlite', options: { file: origin('inbox') === name ? beside(inbox) : resolve(inbox) } }
  }
  if (typeof inbox !== 'object' || inbox === null || Array.isArray(inbox)) {
    throw invalidOption(origin('inbox'), 'inbox', inbox, INBOX_CURE)
  }
  if (isInbox(inbox)) return { kind: 'own', inbox }
  if ('postgres' in inbox) return databaseSetting(inbox, name)
  checkKnownOptions(`${name}: inbox`, inbox, FILE_OPTIONS)
  const { file = DEFAULT_FILE, ...options } = inbox as Partial<SqliteInboxOptions>
  if (typeof file !== 'string' || file === '') {
    throw invalidOption(`${name}: inbox`, 'file', file, 'name a file, such as "callbacks.db"')
  }
  refuseSpaceAroundName(file, `${name}: inbox`, 'file')
  return { kind: 'sqlite', options: { ...options, file: beside(file) } }
}

function databaseSetting(inbox: { readonly postgres: unknown }, fileName: string): DatabaseSetting {
  checkKnownOptions(`${fileName}: inbox`, inbox, ['postgres'])
  const where = `${fileName}: inbox.postgres`
  checkKnownOptions(where, inbox.postgres, DATABASE_OPTIONS)
  const { connectionString, ...options } = inbox.postgres as DatabaseOptions & { connectionString?: unknown }
  schemaName(where, options.schema)
  const isText = typeof connectionString === 'string' && connectionString !== ''
  if (isText) refuseWrongUrl(connectionString, where, 'connectionString')
  if (isText || (typeof connectionString === 'object' && connectionString !== null)) {
    return { kind: 'postgres', connectionString: connectionString as ConnectionStringReference, options }
  }
  const cure =
    'write { env: "NAME" }, { file: "PATH" }, or a text such as "postgres://user:password@host:5432/database"'
  throw invalidOption(where, 'connectionString', connectionString, cure, typeof connectionString)
}

const INBOX_CURE =
  'write { file: "callbacks.db" }, { postgres: { connectionString: { env: "DATABASE_URL" } } }, or false for none'

/** A setting with what it refers to. */
export type ReadyInboxSetting =
  Exclude<InboxSetting, DatabaseSetting> | (DatabaseSetting & { readonly connectionString: string })

/** @throws CountersignError ERR_CONFIG_INVALID */
export async function readyInboxSetting(
  setting: InboxSetting,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<ReadyInboxSetting> {
  if (setting.kind !== 'postgres') return setting
  return { ...setting, connectionString: await connectionStringOf(setting.connectionString, file, env) }
}

type MakeInbox = (clock: (() => number) | undefined, logger: Logger) => Inbox

/** Loads the module of the inbox: only the one that is used, because loading takes most of the start-up time. */
export async function loadInboxMaker(
  setting: Exclude<ReadyInboxSetting, { kind: 'none' }>,
): Promise<MakeInbox> {
  switch (setting.kind) {
    case 'own':
      return () => setting.inbox
    case 'sqlite': {
      const { SqliteInbox } = await import('../../inbox/sqlite/sqlite-inbox.js')
      return (clock, logger) => new SqliteInbox({ ...setting.options, clock, logger })
    }
    case 'postgres': {
      const { PostgresInbox } = await import('../../inbox/postgres/postgres-inbox.js')
      const { connectionString, options } = setting
      return (_clock, logger) => new PostgresInbox({ ...options, connectionString, logger })
    }
  }
}
