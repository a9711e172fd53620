import { CountersignError } from '../../base/errors.js'
import type { LastSigned, SigningSecret } from '../../inbox/last-signed.js'
import { secretFingerprint } from '../../callback/secret-fingerprint.js'
import { withoutQuery } from '../../callback/subscriptions.js'
import type { ConfiguredSubscription } from '../config/config-subscriptions.js'
import { findInbox, type InboxFlags } from '../inboxes/find-inbox.js'
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
  const { inbox } = await findInbox(flags, io)
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
  const { seen, entries } = await inbox.lastSigned(found)
  return {
    inbox: await inbox.name(),
    entries,
    secrets: rows.map((row) => {
      if (!('index' in row)) return row
      const { index, ...about } = row
      return { ...about, last: seen[index] ?? null }
    }),
  }
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
