import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { createClient } from '../../client/index.js'
import { OptionError } from '../../base/errors.js'
import { loadEnvFile, variable } from '../environment.js'
import { UsageError, type Io } from '../io.js'
import { duration } from '../option-values.js'
import { readSecretFile, readSecretVariable } from '../secret-option.js'

export interface ServiceFlags {
  readonly baseUrl?: string
  readonly clientId?: string
  readonly clientSecretEnv?: string
  readonly clientSecretFile?: string
  readonly timeoutMs: number
  readonly envFile?: string
  readonly json?: true
}

/** What a client is made of. */
export interface ServiceAccount {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly timeoutMs: number
}

export const SERVICE_HELP = `
The service is that of --base-url or COUNTERSIGN_BASE_URL, the client that of --client-id or COUNTERSIGN_CLIENT_ID. The
client secret is read from the environment (COUNTERSIGN_CLIENT_SECRET, or --client-secret-env NAME) or from a file
(--client-secret-file). There is no option that takes a secret itself:
a command line is seen by every user of the machine, and kept in the shell's history.`

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
    .option('--client-secret-file <file>', 'the file that holds the client secret; one line end is left out')
    .option('--timeout-ms <number>', 'how long an answer may take, for each attempt', duration, 10_000)
    .option('--json', 'print JSON')
}

/** @throws UsageError */
export async function readServiceAccount(flags: ServiceFlags, io: Io): Promise<ServiceAccount> {
  if (flags.envFile !== undefined) await loadEnvFile(flags.envFile, io)
  const { baseUrl = variable(io, 'COUNTERSIGN_BASE_URL'), clientId = variable(io, 'COUNTERSIGN_CLIENT_ID') } =
    flags
  if (baseUrl === undefined) {
    throw new UsageError('which service? Use --base-url, or set COUNTERSIGN_BASE_URL')
  }
  if (clientId === undefined) {
    throw new UsageError('which client? Use --client-id, or set COUNTERSIGN_CLIENT_ID')
  }
  const clientSecret = await readClientSecret(flags, io)
  const account = { baseUrl, clientId, clientSecret, timeoutMs: flags.timeoutMs }
  try {
    // What it finds wrong is to be found now, and not when the command has done half of its work.
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

/** Where an option of the client comes from, for messages. */
function origin(option: string, flags: ServiceFlags): string {
  if (option === 'baseUrl') return flags.baseUrl === undefined ? 'COUNTERSIGN_BASE_URL' : '--base-url'
  if (option === 'clientId') return flags.clientId === undefined ? 'COUNTERSIGN_CLIENT_ID' : '--client-id'
  return option === 'clientSecret' ? 'the client secret' : option
}

const DEFAULT_VARIABLE = 'COUNTERSIGN_CLIENT_SECRET'
