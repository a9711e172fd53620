import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { createClient } from '../../client/index.js'
import { OptionError } from '../../base/errors.js'
import { loadEnvFile, variable } from '../environment.js'
import { UsageError, type Io } from '../io.js'
import { duration, someText } from '../option-values.js'
import { NO_SECRET_OPTION, readSecretFile, readSecretVariable } from '../secret-option.js'

export interface ServiceFlags {
  readonly baseUrl?: string
  readonly clientId?: string
  readonly clientSecretEnv?: string
  readonly clientSecretFile?: string
  readonly timeoutMs: number
  readonly env?: string
  readonly json?: true
}

/** The options of a client. */
export interface ServiceAccount {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly timeoutMs: number
}

export const SERVICE_HELP = `
--base-url or COUNTERSIGN_BASE_URL is the address of the service, --client-id or
COUNTERSIGN_CLIENT_ID the client id. The client secret is read from the
environment (COUNTERSIGN_CLIENT_SECRET, or --client-secret-env NAME) or from a
file (--client-secret-file).
${NO_SECRET_OPTION}`

export function addServiceOptions(command: Command): Command {
  return command
    .option('--base-url <url>', 'the base address of the service (or COUNTERSIGN_BASE_URL)')
    .option('--client-id <uuid>', 'the client id (or COUNTERSIGN_CLIENT_ID)')
    .addOption(
      new Option(
        '--client-secret-env <name>',
        'the environment variable that holds the client secret (default: COUNTERSIGN_CLIENT_SECRET)',
      ).conflicts('clientSecretFile'),
    )
    .option(
      '--client-secret-file <file>',
      'the file that holds the client secret; one line end at its end is ignored',
      someText,
    )
    .option('--timeout-ms <number>', 'the time limit of each attempt', duration, 10_000)
    .option('--json', 'print JSON')
}

/** @throws UsageError */
export async function readServiceAccount(flags: ServiceFlags, io: Io): Promise<ServiceAccount> {
  await loadEnvFile(flags.env, io)
  const { baseUrl = variable(io, 'COUNTERSIGN_BASE_URL'), clientId = variable(io, 'COUNTERSIGN_CLIENT_ID') } =
    flags
  if (baseUrl === undefined) {
    throw new UsageError('no address of the service: use --base-url, or set COUNTERSIGN_BASE_URL')
  }
  if (clientId === undefined) {
    throw new UsageError('no client id: use --client-id, or set COUNTERSIGN_CLIENT_ID')
  }
  const clientSecret = await readClientSecret(flags, io)
  const account = { baseUrl, clientId, clientSecret, timeoutMs: flags.timeoutMs }
  try {
    // Checks the options before the command does any of its work.
    await createClient({ ...account, logger: false }).close()
  } catch (error) {
    if (!(error instanceof OptionError)) throw error
    throw new UsageError(error.withOwner(origin(error.option, flags)).message)
  }
  return account
}

async function readClientSecret(
  { clientSecretEnv: name, clientSecretFile: file }: ServiceFlags,
  io: Io,
): Promise<string> {
  if (file !== undefined) return readSecretFile(resolve(io.cwd(), file), { written: file })
  if (name !== undefined) return readSecretVariable(name, io.env)
  if (variable(io, DEFAULT_VARIABLE)) return readSecretVariable(DEFAULT_VARIABLE, io.env)
  throw new UsageError(
    `no client secret: set ${DEFAULT_VARIABLE}, or use --client-secret-env or --client-secret-file`,
  )
}

/** Where an option of the client was set, for messages. */
function origin(option: string, flags: ServiceFlags): string {
  if (option === 'baseUrl') return flags.baseUrl === undefined ? 'COUNTERSIGN_BASE_URL' : '--base-url'
  if (option === 'clientId') return flags.clientId === undefined ? 'COUNTERSIGN_CLIENT_ID' : '--client-id'
  return option === 'clientSecret' ? 'the client secret' : option
}

const DEFAULT_VARIABLE = 'COUNTERSIGN_CLIENT_SECRET'
