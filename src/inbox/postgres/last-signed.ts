import { secretFingerprint } from '../../callback/secret-fingerprint.js'
import { hmacKey } from '../../signature/secret.js'
import type { LastSigned, LastSignedReport, SigningSecret } from '../last-signed.js'
import { lookAtDatabase, type LookOptions } from './look-at-database.js'
import { searchPathOf, storedText } from './sql-text.js'
import { LAST_USE_STEP_MS } from './store-new-function.js'

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
    await connection.query(`SET LOCAL search_path = ${searchPathOf(schema)}`)
    const seen: (LastSigned | undefined)[] = []
    for (const { secret, eventTypeName, callbackUrl } of secrets) {
      const fingerprint = secretFingerprint(hmacKey(secret))
      const values = [fingerprint, storedText(eventTypeName), storedText(callbackUrl)]
      const { rows } = await connection.query<{ entry: string; signed_at: string; received_at: string }>(
        LATEST,
        values,
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
    const { rows } = await connection.query<{ count: string }>(
      'SELECT count(*) AS count FROM entries WHERE kind <> 1',
    )
    return { seen, entries: Number(rows[0]!.count) }
  })
}

// By the indexes on the signatures, which begin with the time. The search begins at the last use: only if what was signed then has been
// deleted does it examine entries of other sources.
const LATEST = `
  SELECT latest.* FROM sources CROSS JOIN LATERAL (${[0, 2].map(latest).join(' UNION ALL ')}) AS latest
  WHERE secret_fingerprint = $1 AND subscribed_type = $2 AND callback_url = $3
  ORDER BY signed_at DESC LIMIT 1`

function latest(kind: number): string {
  return `(
    SELECT entries.id::text AS entry, signed_at, received_at FROM entries
    WHERE kind = ${kind} AND source = sources.id AND signed_at <= last_signed_at + ${LAST_USE_STEP_MS}
    ORDER BY signed_at DESC LIMIT 1
  )`
}
