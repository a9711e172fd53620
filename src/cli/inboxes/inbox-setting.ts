import { dirname, resolve } from 'node:path'
import { isInbox } from '../../inbox/inbox.js'
import type { SqliteInboxOptions } from '../../inbox/sqlite/sqlite-inbox.js'
import type { PostgresInboxOptions } from '../../inbox/postgres/options.js'
import { schemaName } from '../../inbox/postgres/schema-name.js'
import { checkKnownOptions, invalidOption } from '../../base/option-checks.js'
import type { ConfigFile } from '../config/config-file.js'
import type { ConfigValues } from '../config/config-values.js'
import type { ConfiguredInbox } from './configured-inbox.js'
import {
  connectionStringOf,
  isConnectionString,
  refusePassword,
  refuseSpaceAroundName,
  refuseWrongUrl,
  type ConnectionStringReference,
} from './connection-string.js'
import { madeInbox } from './made-inbox.js'
import { postgresInbox } from './postgres.js'
import { sqliteInbox } from './sqlite.js'

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
 * `{ postgres: { connectionString, ... } }`, or an inbox. Undefined if handlers run before the answer. The default is an inbox in a
 * file, because the service's retries are not documented, unless there is a `store`.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; UsageError
 */
export function inboxSetting(
  { file: configFile, values, origin }: ConfigValues,
  env: NodeJS.ProcessEnv,
): ConfiguredInbox | undefined {
  const { name, path } = configFile
  const { inbox = values.store === undefined ? DEFAULT_FILE : false } = values
  if (inbox === false) return undefined
  const folder = dirname(path)
  // On the command line a relative name starts from the current folder, as for all options.
  if (typeof inbox === 'string' && inbox !== '')
    return namedInbox(inbox, origin('inbox'), origin('inbox') === name ? folder : '')
  if (typeof inbox !== 'object' || inbox === null || Array.isArray(inbox)) {
    throw invalidOption(origin('inbox'), 'inbox', inbox, INBOX_CURE)
  }
  if (isInbox(inbox)) return madeInbox(inbox)
  if ('postgres' in inbox) return databaseSetting(inbox, configFile, env)
  checkKnownOptions(`${name}: inbox`, inbox, FILE_OPTIONS)
  const { file = DEFAULT_FILE, ...options } = inbox as Partial<SqliteInboxOptions>
  if (typeof file !== 'string' || file === '') {
    throw invalidOption(`${name}: inbox`, 'file', file, 'name a file, such as "callbacks.db"')
  }
  refuseSpaceAroundName(file, `${name}: inbox`, 'file')
  return sqliteInbox({ ...options, file: resolve(folder, file) }, file)
}

/**
 * An inbox that a text names: a file, whose relative name starts from the folder, a connection string, or `none`. `where` is the
 * flag, the variable or the file with the text.
 * @throws CountersignError ERR_OPTION_INVALID; UsageError for a password on the command line
 */
export function namedInbox(text: string, where: string, folder: string): ConfiguredInbox | undefined {
  refuseSpaceAroundName(text, where, 'inbox')
  if (text === 'none') return undefined
  if (!isConnectionString(text)) return sqliteInbox({ file: resolve(folder, text) }, text)
  if (where.startsWith('--')) refusePassword(text, where)
  refuseWrongUrl(text, where, 'inbox')
  return postgresInbox({}, async () => text)
}

function databaseSetting(
  inbox: { readonly postgres: unknown },
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): ConfiguredInbox {
  checkKnownOptions(`${file.name}: inbox`, inbox, ['postgres'])
  const where = `${file.name}: inbox.postgres`
  checkKnownOptions(where, inbox.postgres, DATABASE_OPTIONS)
  const { connectionString, ...options } = inbox.postgres as Omit<
    PostgresInboxOptions,
    'connectionString'
  > & { connectionString?: unknown }
  schemaName(where, options.schema)
  const isText = typeof connectionString === 'string' && connectionString !== ''
  if (isText) refuseWrongUrl(connectionString, where, 'connectionString')
  if (isText || (typeof connectionString === 'object' && connectionString !== null)) {
    const reference = connectionString as ConnectionStringReference
    return postgresInbox(options, () => connectionStringOf(reference, file, env))
  }
  const cure =
    'write { env: "NAME" }, { file: "PATH" }, or a text such as "postgres://user:password@host:5432/database"'
  throw invalidOption(where, 'connectionString', connectionString, cure, typeof connectionString)
}

const INBOX_CURE =
  'write { file: "callbacks.db" }, { postgres: { connectionString: { env: "DATABASE_URL" } } }, or false for none'
