import { dirname, resolve } from 'node:path'
import type { Inbox } from '../../inbox/inbox.js'
import { SqliteInbox, type SqliteInboxOptions } from '../../inbox/sqlite/sqlite-inbox.js'
import type { Logger } from '../../logging/logger.js'
import { checkKnownOptions, invalidOption } from '../../base/option-checks.js'
import type { ConfigFile } from './config-file.js'

/** The inbox is created only with the receiver: reading a configuration must not create a file. */
export type InboxSetting =
  | { readonly kind: 'none' }
  | { readonly kind: 'own'; readonly inbox: Inbox }
  | { readonly kind: 'sqlite'; readonly options: Omit<SqliteInboxOptions, 'clock' | 'logger'> }

export const DEFAULT_FILE = 'callbacks.db'
const FILE_OPTIONS = ['file', 'retentionMs', 'discardedRetentionMs', 'busyTimeoutMs'] as const

/**
 * The `inbox` option: `false` or the word `none`, a file name, `{ file, ... }`, or an inbox. The default is an
 * inbox in a file, because the service's retries are not documented, unless there is a `store`.
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
  if (typeof inbox === 'string' && inbox !== '') {
    // On the command line a relative name starts from the current folder, as for all options.
    return { kind: 'sqlite', options: { file: origin('inbox') === name ? beside(inbox) : resolve(inbox) } }
  }
  if (typeof inbox !== 'object' || inbox === null || Array.isArray(inbox)) {
    throw invalidOption(origin('inbox'), 'inbox', inbox, 'write { file: "callbacks.db" }, or false for none')
  }
  if ('add' in inbox && typeof inbox.add === 'function') return { kind: 'own', inbox: inbox as Inbox }
  checkKnownOptions(`${name}: inbox`, inbox, FILE_OPTIONS)
  const { file = DEFAULT_FILE, ...options } = inbox as Partial<SqliteInboxOptions>
  if (typeof file !== 'string' || file === '') {
    throw invalidOption(`${name}: inbox`, 'file', file, 'name a file, such as "callbacks.db"')
  }
  return { kind: 'sqlite', options: { ...options, file: beside(file) } }
}

export function makeInbox(
  setting: InboxSetting,
  clock: (() => number) | undefined,
  logger: Logger,
): Inbox | undefined {
  if (setting.kind === 'none') return undefined
  return setting.kind === 'own' ? setting.inbox : new SqliteInbox({ ...setting.options, clock, logger })
}
