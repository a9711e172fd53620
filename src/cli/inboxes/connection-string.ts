import { invalidOption } from '../../base/option-checks.js'
import { parseUrl } from '../../base/parse-url.js'
import { refuseSurroundingSpace } from '../../base/surrounding-space.js'
import { refuseSeveralHosts } from '../../inbox/postgres/one-address.js'
import { UsageError } from '../io.js'
import type { SecretReference } from '../config/config-entry.js'
import type { ConfigFile } from '../config/config-file.js'
import { resolveOption } from '../config/config-secrets.js'

export type ConnectionStringReference = string | NonNullable<SecretReference>

/** Whether a text names a database and not a file. */
export function isConnectionString(text: string): boolean {
  return /^postgres(ql)?:/i.test(text)
}

/**
 * The text that the configuration refers to.
 * @throws CountersignError ERR_CONFIG_INVALID
 */
export async function connectionStringOf(
  reference: ConnectionStringReference,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const option = 'inbox.postgres.connectionString'
  const meaning = 'the connection string'
  const text = (await resolveOption(reference, { option, meaning }, file, env)) as string
  refuseWrongUrl(text, file.name, option)
  return text
}

/**
 * Refuses a connection string with white space around it, which PostgreSQL would take for a part of the name of the database.
 * Refuses also one with several hosts, and one that cannot be parsed, which most often has a password that is not encoded. The
 * error does not contain it. @throws CountersignError ERR_OPTION_INVALID
 */
export function refuseWrongUrl(connectionString: string, owner: string, option: string): void {
  refuseSurroundingSpace(owner, option, connectionString, { mayBeShown: false })
  refuseSeveralHosts(connectionString, owner, option)
  if (!isConnectionString(connectionString) || parseUrl(connectionString)) return
  const cure =
    'write "postgres://user:password@host:5432/database", with each / ? # [ ] @ of the password percent-encoded'
  throw invalidOption(owner, option, connectionString, cure, 'not a URL')
}

/**
 * Refuses the name of an inbox, a file or a connection string, with white space around it.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function refuseSpaceAroundName(name: string, owner: string, option: string): void {
  refuseSurroundingSpace(owner, option, name, { mayBeShown: !isConnectionString(name.trimStart()) })
}

/**
 * Refuses a password in an option of the command line, which every user of the machine can see.
 * @throws UsageError; CountersignError ERR_OPTION_INVALID if it has several hosts
 */
export function refusePassword(connectionString: string, flag: string): void {
  refuseSeveralHosts(connectionString, flag, 'inbox')
  const url = parseUrl(connectionString)
  if (url && passwordsOf(url).length === 0) return
  const message =
    `${flag}: a connection string with a password does not belong on the command line, where every user of the machine can ` +
    'see it: set COUNTERSIGN_INBOX, or "inbox" in the configuration'
  throw new UsageError(message)
}

/** The parts that no output may contain: the text itself, and the password, percent-encoded and decoded. */
export function secretsIn(connectionString: string): string[] {
  const url = parseUrl(connectionString)
  return [connectionString, ...(url ? passwordsOf(url) : [])]
}

/** Host, port and database, for messages. */
export function databaseName(connectionString: string): string {
  const url = parseUrl(connectionString)
  if (!url) return 'a PostgreSQL database'
  const host = url.host || url.searchParams.get('host') || 'the local server'
  return `PostgreSQL database ${decoded(url.pathname.slice(1)) || '(of the name of the user)'} on ${host}`
}

function passwordsOf({ password, searchParams }: URL): string[] {
  return [
    password,
    decoded(password),
    searchParams.get('password') ?? '',
    searchParams.get('sslpassword') ?? '',
  ].filter((text) => text !== '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
