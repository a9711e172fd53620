import { secretFingerprint } from '../../callback/secret-fingerprint.js'
import { hmacKey } from '../../signature/secret.js'
import type { LastSigned, LastSignedReport, SigningSecret } from '../last-signed.js'
import { lookAtDatabase, type LookOptions } from './look-at-database.js'
import { quoteIdentifier, storedText } from './sql-text.js'

/**
 * When each secret was last used to sign a callback that is stored, by the time of signing. Every entry has the fingerprint of
 * the secret of its first delivery.
 * @throws CountersignError as PostgresInbox does, SignatureInputError ERR_SECRET_INVALID
 */
export function lastSignedInDatabase(
  options: LookOptions,
  secrets: readonly SigningSecret[],
): Promise<LastSignedReport> {
  return lookAtDatabase(options, async (connection, schema) => {
    const entries = `${quoteIdentifier(schema)}.entries`
    const seen: (LastSigned | undefined)[] = []
    for (const { secret, eventTypeName, callbackUrl } of secrets) {
      const { rows } = await connection.query<{ entry: string; signed_at: string; received_at: string }>(
        `SELECT id::text AS entry, signed_at, received_at FROM ${entries}
        WHERE secret_fingerprint = $1 AND subscribed_type = $2 AND callback_url = $3
        ORDER BY signed_at DESC LIMIT 1`,
        [secretFingerprint(hmacKey(secret)), storedText(eventTypeName), storedText(callbackUrl)],
      )
      const [row] = rows
      seen.push(
        row && {
          entryId: row.entry,
          signedAt: new Date(Number(row.signed_at)),
          receivedAt: new Date(Number(row.received_at)),
        },
      )
    }
    const { rows } = await connection.query<{ count: string }>(`SELECT count(*) AS count FROM ${entries}`)
    return { seen, entries: Number(rows[0]!.count) }
  })
}
