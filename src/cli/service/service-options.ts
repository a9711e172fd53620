import { Option, type Command } from 'commander'
import { createClient } from '../../client/index.js'
import { withOrigin, type OptionOrigin } from '../config/option-origin.js'
import { loadEnvFile, variable } from '../environment.js'
import { UsageError, type Io } from '../io.js'
import { duration, someText } from '../option-values.js'
import { NO_SECRET_OPTION, secretFrom } from '../secret-option.js'

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
  const missing =
    'no client secret: set COUNTERSIGN_CLIENT_SECRET, or use --client-secret-env or --client-secret-file'
  const given = { name: flags.clientSecretEnv, file: flags.clientSecretFile }
  const clientSecret = await secretFrom(given, 'COUNTERSIGN_CLIENT_SECRET', missing, io)
  const account = { baseUrl, clientId, clientSecret, timeoutMs: flags.timeoutMs }
  // Checks the options before the command does any of its work.
  await withOrigin(originOf(flags), async () => createClient({ ...account, logger: false }).close())
  return account
}

/** Where an option of the client was set, for messages. */
function originOf({ baseUrl, clientId }: ServiceFlags): OptionOrigin {
  return (option) => {
    if (option === 'baseUrl') return baseUrl === undefined ? 'COUNTERSIGN_BASE_URL' : '--base-url'
    if (option === 'clientId') return clientId === undefined ? 'COUNTERSIGN_CLIENT_ID' : '--client-id'
    return option === 'clientSecret' ? 'the client secret' : option
  }
}
