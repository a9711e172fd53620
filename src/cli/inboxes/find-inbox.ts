import type { Command } from 'commander'
import type { Tolerance } from '../../callback/authenticate.js'
import { toleranceOptions } from '../../callback/tolerance.js'
import { retentionOptions, type Retention, type RetentionOptions } from '../../inbox/retention.js'
import { hasConfig, loadValues, type ConfigValues } from '../config/config-values.js'
import { withOrigin } from '../config/option-origin.js'
import { addEnvFileOption, CONFIG_OPTION, loadEnvFile, variable } from '../environment.js'
import { UsageError, type Io } from '../io.js'
import { someText } from '../option-values.js'
import type { ConfiguredInbox } from './configured-inbox.js'
import { DEFAULT_FILE, inboxSetting, namedInbox } from './inbox-setting.js'

export interface InboxFlags {
  readonly inbox?: string
  readonly config?: string
  readonly env?: string
}

export function addInboxOptions(command: Command): Command {
  const withFile = command
    .option(
      '--inbox <file>',
      "the inbox's file, or a postgres:// URL without a password (or COUNTERSIGN_INBOX; default: that of the configuration, or callbacks.db)",
      someText,
    )
    .option(...CONFIG_OPTION)
  return addEnvFileOption(withFile)
}

interface FoundInbox {
  readonly inbox: ConfiguredInbox
  /** How long the receiver of the configuration keeps entries; undefined if no configuration was read. */
  readonly retention: Retention | undefined
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
  await loadEnvFile(env, io)
  const named = inbox ?? variable(io, 'COUNTERSIGN_INBOX')
  const asksConfig = (named === undefined || asksRetention) && hasConfig({ config }, io)
  const configured = asksConfig ? await loadValues({ config }, io) : undefined
  const setting = configured && inboxSetting(configured, io.env)
  const retention = configured && (await neededRetention(configured, setting?.retention))
  if (named !== undefined || !configured) {
    const where = inbox === undefined ? 'COUNTERSIGN_INBOX' : '--inbox'
    const found = namedInbox(named ?? DEFAULT_FILE, where, io.cwd())
    if (found) return { inbox: found, retention }
    throw noInbox(where, 'says none')
  }
  if (setting) return { inbox: setting, retention }
  throw noInbox(configured.file.name, 'has none')
}

/**
 * The shortest retention of the receiver. It is at least as long as callbacks are accepted, because their repeats
 * must be recognised.
 */
async function neededRetention(
  { file, values, origin }: ConfigValues,
  retention: RetentionOptions = {},
): Promise<Retention> {
  const { toleranceMs, futureToleranceMs } = await withOrigin(origin, () =>
    toleranceOptions(file.name, values as Partial<Tolerance>),
  )
  const { retentionMs, discardedRetentionMs } = retentionOptions(`${file.name}: inbox`, retention)
  return { retentionMs: Math.max(retentionMs, toleranceMs + futureToleranceMs), discardedRetentionMs }
}

function noInbox(where: string, why: string): UsageError {
  return new UsageError(`no inbox to look into: ${where} ${why}. Name its file with --inbox`)
}
