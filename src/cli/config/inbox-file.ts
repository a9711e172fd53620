import { resolve } from 'node:path'
import type { Command } from 'commander'
import { integerOption } from '../../base/option-checks.js'
import { DEFAULT_TOLERANCE } from '../../callback/authenticate.js'
import type { InboxOperations } from '../../inbox/operations.js'
import {
  DEFAULT_DISCARDED_RETENTION_MS,
  DEFAULT_RETENTION_MS,
  type Retention,
} from '../../inbox/retention.js'
import { hasConfig, loadValues, type ConfigValues } from './config-values.js'
import { addEnvFileOption, CONFIG_OPTION, loadEnvFile, variable } from '../environment.js'
import {
  connectionStringOf,
  isConnectionString,
  refusePassword,
  refuseSpaceAroundName,
  refuseWrongUrl,
} from './connection-string.js'
import { DEFAULT_FILE, inboxSetting, type DatabaseOptions, type InboxSetting } from './inbox-setting.js'
import { UsageError, type Io } from '../io.js'
import { someText } from '../option-values.js'

export interface InboxFlags {
  readonly inbox?: string
  readonly config?: string
  readonly env?: string
}

/** An inbox that the configuration creates itself. */
interface OwnInbox {
  readonly kind: 'own'
  readonly inbox: InboxOperations
}

export interface InboxDatabase {
  readonly kind: 'database'
  /** @throws CountersignError ERR_CONFIG_INVALID */
  readonly connectionString: () => Promise<string>
  readonly options: DatabaseOptions
}

export type FoundInbox = InboxFile | InboxDatabase | OwnInbox

export interface InboxFile {
  readonly kind: 'file'
  readonly path: string
  /** Its name in messages. */
  readonly name: string
  /** How long the receiver of the configuration keeps entries; undefined if no configuration was read. */
  readonly retention?: Retention | undefined
}

export function addInboxFileOptions(command: Command): Command {
  const withFile = command
    .option(
      '--inbox <file>',
      "the inbox's file, or a postgres:// URL without a password (or COUNTERSIGN_INBOX; default: that of the configuration, or callbacks.db)",
      someText,
    )
    .option(...CONFIG_OPTION)
  return addEnvFileOption(withFile)
}

/**
 * The inbox that `serve` would use: from the flag, the environment or the configuration, in this order of
 * precedence. Secrets and handlers of the configuration are not loaded.
 * @throws UsageError; CountersignError if the configuration cannot be read
 */
export async function findInbox(
  { inbox, config, env }: InboxFlags,
  io: Io,
  { asksRetention = false } = {},
): Promise<FoundInbox> {
  if (inbox !== undefined && isConnectionString(inbox)) refusePassword(inbox, '--inbox')
  await loadEnvFile(env, io)
  const named = inbox ?? variable(io, 'COUNTERSIGN_INBOX')
  if (named !== undefined)
    refuseSpaceAroundName(named, inbox === undefined ? 'COUNTERSIGN_INBOX' : '--inbox', 'inbox')
  if (named === 'none') throw noInbox(inbox === undefined ? 'COUNTERSIGN_INBOX' : '--inbox', 'says none')
  const asksConfig = (named === undefined || asksRetention) && hasConfig({ config }, io)
  const configured = asksConfig ? await loadValues({ config }, io) : undefined
  const setting = named === undefined && configured ? configuredInbox(configured) : undefined
  if (setting?.kind === 'own') return { kind: 'own', inbox: setting.inbox }
  const retention = configured && neededRetention(configured)
  if (setting?.kind === 'postgres') {
    const connectionString = () => connectionStringOf(setting.connectionString, configured!.file, io.env)
    return { kind: 'database', connectionString, options: { ...setting.options, ...retention } }
  }
  if (named !== undefined && isConnectionString(named)) {
    refuseWrongUrl(named, 'COUNTERSIGN_INBOX', 'inbox')
    return { kind: 'database', connectionString: async () => named, options: { ...retention } }
  }
  const path = setting?.options.file ?? resolve(io.cwd(), named ?? DEFAULT_FILE)
  return { kind: 'file', path, name: named ?? DEFAULT_FILE, retention }
}

/** The same for what cannot be done with an inbox that the configuration makes. `work`: what the command does. */
export async function findBuiltInInbox(
  flags: InboxFlags,
  io: Io,
  work: string,
): Promise<InboxFile | InboxDatabase> {
  const found = await findInbox(flags, io)
  if (found.kind !== 'own') return found
  // By its name, as the configuration may load another copy of the package.
  throw new UsageError(
    found.inbox.constructor.name === 'MemoryInbox'
      ? `cannot ${work}: the inbox of the configuration is a MemoryInbox, and only the process that has made it can see what is in ` +
          'it. To keep callbacks, set inbox to { file } or { postgres }'
      : `cannot ${work}: the configuration makes the inbox itself. If it is in a file, name the file with --inbox; if it is in ` +
          'PostgreSQL, set COUNTERSIGN_INBOX to its connection string',
  )
}

function configuredInbox({ file, values, origin }: ConfigValues): Exclude<InboxSetting, { kind: 'none' }> {
  const setting = inboxSetting(values, file, origin)
  if (setting.kind === 'none') throw noInbox(file.name, 'has none')
  return setting
}

/**
 * The shortest retention of the receiver. It is at least as long as callbacks are accepted, because their repeats
 * must be recognised.
 */
function neededRetention({ file, values, origin }: ConfigValues): Retention {
  const duration = (name: string, value: unknown, fallback: number) =>
    integerOption(origin(name), name, value as number | undefined, { fallback, min: 0 })
  const accepted =
    duration('toleranceMs', values.toleranceMs, DEFAULT_TOLERANCE.toleranceMs) +
    duration('futureToleranceMs', values.futureToleranceMs, DEFAULT_TOLERANCE.futureToleranceMs)
  const setting = inboxSetting(values, file, origin)
  const { retentionMs, discardedRetentionMs } = 'options' in setting ? setting.options : {}
  const kept = duration('inbox.retentionMs', retentionMs, DEFAULT_RETENTION_MS)
  return {
    retentionMs: Math.max(kept, accepted),
    discardedRetentionMs: duration(
      'inbox.discardedRetentionMs',
      discardedRetentionMs,
      DEFAULT_DISCARDED_RETENTION_MS,
    ),
  }
}

function noInbox(where: string, why: string): UsageError {
  return new UsageError(`no inbox to look into: ${where} ${why}. Name its file with --inbox`)
}
