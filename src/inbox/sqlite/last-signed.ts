import { secretFingerprint } from '../../callback/secret-fingerprint.js'
import { hmacKey } from '../../signature/secret.js'
import type { LastSigned, LastSignedReport, SigningSecret } from '../last-signed.js'
import type { Reader } from './read-inbox-file.js'
import { entryIdOf } from './row-id.js'
import { LAST_USE_STEP_MS } from './sources.js'

/**
 * When each secret was last used to sign a callback that is stored.
 *
 * The time of signing counts, not the time of arrival. Otherwise an attacker who sends a captured delivery again could make a
 * secret look used. An entry has the fingerprint of its first delivery: a repeat that was signed with another secret does not
 * count.
 * @throws SignatureInputError ERR_SECRET_INVALID
 */
export function lastSigned(db: Reader, secrets: readonly SigningSecret[]): LastSignedReport {
  const { entries } = db.get<{ entries: number }>('SELECT count(*) AS entries FROM entries')!
  return { seen: secrets.map((each) => latestOf(db, each)), entries }
}

function latestOf(db: Reader, { secret, eventTypeName, callbackUrl }: SigningSecret): LastSigned | undefined {
  const fingerprint = secretFingerprint(hmacKey(secret))
  const row = db
    .all<SourceUse>(USES, fingerprint, eventTypeName, callbackUrl)
    .map(({ number, last_signed_at: at }) => db.get<FoundRow>(LATEST, at + LAST_USE_STEP_MS, number))
    .filter((found) => found !== undefined)
    .sort((a, b) => b.signed_at - a.signed_at)[0]
  if (!row) return undefined
  const { id, signed_at: signedAt, received_at: receivedAt } = row
  return { entryId: entryIdOf(id), signedAt: new Date(signedAt), receivedAt: new Date(receivedAt) }
}

interface SourceUse {
  readonly number: number
  readonly last_signed_at: number
}

const USES = `
  SELECT number, last_signed_at FROM sources
  WHERE secret_fingerprint = ? AND subscribed_type = ? AND callback_url = ? AND last_signed_at IS NOT NULL`

interface FoundRow {
  readonly id: number
  readonly signed_at: number
  readonly received_at: number
}

/**
 * By the index on the signatures, which begins with the time. It begins at the last use: only if what was signed then has been deleted
 * does it examine entries of other sources.
 */
const LATEST = `
  SELECT id, signed_at, received_at FROM entries
  WHERE signed_at <= ? AND source = ? ORDER BY signed_at DESC LIMIT 1`
