import { CountersignError } from '../../base/errors.js'
import { isMissing } from '../../base/is-missing.js'
import type { LastSigned, LastSignedReport, SigningSecret } from '../../inbox/last-signed.js'
import { lastSigned } from '../../inbox/sqlite/last-signed.js'
import { readInboxFile } from '../../inbox/sqlite/read-inbox-file.js'
import { secretFingerprint } from '../../callback/secret-fingerprint.js'
import { withoutQuery } from '../../callback/subscriptions.js'
import type { ConfiguredSubscription } from '../config/config-subscriptions.js'
import { databaseName } from '../config/connection-string.js'
import {
  findBuiltInInbox,
  type InboxDatabase,
  type InboxFile,
  type InboxFlags,
} from '../config/inbox-file.js'
import { UsageError, type Io } from '../io.js'
import { hmacKey } from '../../signature/secret.js'

/** When each secret was last used, from the inbox. */
export interface LastSeen {
  readonly inbox: string
  /** How many entries there are. */
  readonly entries: number
  readonly secrets: readonly SecretSeen[]
}

export interface SecretSeen {
  readonly subscription: string
  readonly id?: string | undefined
  readonly eventTypeName: string
  readonly callbackUrl: string
  /** The name of the secret in the configuration. */
  readonly secret: string
  /** Its name in the metrics, in the console and in the entries. */
  readonly fingerprint?: string
  /** Why its use is not known. */
  readonly problem?: string
  /** The latest stored callback that was signed with it; null if no entry was signed with it. */
  readonly last?: LastSigned | null
}

/**
 * When each secret last signed a stored callback. It reads the inbox while its receiver runs, and writes nothing.
 * @throws UsageError if there is no inbox; CountersignError if it cannot be read
 */
export async function lastSeen(
  subscriptions: readonly ConfiguredSubscription[],
  flags: InboxFlags,
  io: Io,
): Promise<LastSeen> {
  const inbox = await findBuiltInInbox(flags, io, 'say when a secret was last used')
  if (inbox.kind === 'file' && isMissing(inbox.path))
    throw new UsageError(`there is no inbox ${inbox.name} (${inbox.path}): nothing was stored yet`)
  const found: SigningSecret[] = []
  const rows = subscriptions.flatMap(({ place, id, eventTypeName, callbackUrl, secrets }) =>
    secrets.map(({ name: secretName, secret }) => {
      const about = {
        subscription: place,
        id,
        eventTypeName,
        callbackUrl: withoutQuery(callbackUrl),
        secret: secretName,
      }
      if (typeof secret !== 'string') return { ...about, problem: secret.problem }
      const fingerprint = secretFingerprint(hmacKey(secret))
      return { ...about, fingerprint, index: found.push({ eventTypeName, callbackUrl, secret }) - 1 }
    }),
  )
  const { name, report } = inbox.kind === 'file' ? await inFile(inbox, found) : await inDatabase(inbox, found)
  return {
    inbox: name,
    entries: report.entries,
    secrets: rows.map((row) => {
      if (!('index' in row)) return row
      const { index, ...about } = row
      return { ...about, last: report.seen[index] ?? null }
    }),
  }
}

interface Looked {
  /** As messages name the inbox. */
  readonly name: string
  readonly report: LastSignedReport
}

const NOTHING: LastSignedReport = { seen: [], entries: 0 }

async function inFile({ path }: InboxFile, secrets: readonly SigningSecret[]): Promise<Looked> {
  return { name: path, report: (await readInboxFile(path, (db) => lastSigned(db, secrets))) ?? NOTHING }
}

async function inDatabase(
  { options: { schema, busyTimeoutMs }, ...database }: InboxDatabase,
  secrets: readonly SigningSecret[],
): Promise<Looked> {
  const { lastSignedInDatabase } = await import('../../inbox/postgres/last-signed.js')
  const { databaseState } = await import('../../inbox/postgres/look-at-database.js')
  const connectionString = await database.connectionString()
  const where = { connectionString, schema, busyTimeoutMs }
  const { schemaVersion } = await databaseState(where)
  const report = schemaVersion === 0 ? NOTHING : await lastSignedInDatabase(where, secrets)
  return { name: databaseName(connectionString), report }
}

/** The same for commands that can continue without it: returns the reason instead of throwing it. */
export async function lastSeenIfPossible(
  subscriptions: readonly ConfiguredSubscription[],
  flags: InboxFlags,
  io: Io,
): Promise<LastSeen | { readonly unknown: string }> {
  try {
    return await lastSeen(subscriptions, flags, io)
  } catch (error) {
    if (error instanceof CountersignError || error instanceof UsageError) return { unknown: error.message }
    throw error
  }
}

export function readableSeen({ problem, last }: SecretSeen, { entries }: LastSeen): string {
  if (problem !== undefined) return `not known: ${problem}`
  if (last) return `last signed ${last.signedAt.toISOString()} (entry ${last.entryId})`
  return `not seen in the ${entries} ${entries === 1 ? 'entry' : 'entries'} there are`
}
