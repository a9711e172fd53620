import { secretFingerprint } from '../../callback/secret-fingerprint.js'
import { hmacKey } from '../../signature/secret.js'
import type { LastSigned, LastSignedReport, SigningSecret } from '../last-signed.js'
import type { Reader } from './read-inbox-file.js'
import { entryIdOf } from './row-id.js'

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
  const row = db.get<FoundRow>(
    LATEST_OF_SECRET,
    secretFingerprint(hmacKey(secret)),
    eventTypeName,
    callbackUrl,
  )
  if (!row) return undefined
  const { id, signed_at: signedAt, received_at: receivedAt } = row
  return { entryId: entryIdOf(id), signedAt: new Date(signedAt), receivedAt: new Date(receivedAt) }
}

interface FoundRow {
  readonly id: number
  readonly signed_at: number
  readonly received_at: number
}

const LATEST_OF_SECRET = `
  SELECT id, signed_at, received_at FROM entries
  WHERE secret_fingerprint = ? AND subscribed_type = ? AND callback_url = ?
  ORDER BY signed_at DESC LIMIT 1`
