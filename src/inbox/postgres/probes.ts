import { probeNonceBytes } from '../identity.js'
import type { Transaction } from './transaction.js'

/** Returns false if the nonce is known. It is stored like a signature of an entry that does not exist. */
export async function rememberProbe(
  tx: Transaction,
  nonce: string,
  sentAtMs: number,
  forgetBeforeMs: number,
): Promise<boolean> {
  await tx.run(
    'DELETE FROM signatures WHERE repeated AND entry_id = 0 AND signed_at < $1::bigint',
    forgetBeforeMs,
  )
  const inserted = await tx.run(
    'INSERT INTO signatures (signed_at, signature, entry_id, repeated) VALUES ($1::bigint, $2::bytea, 0, true) ' +
      'ON CONFLICT DO NOTHING',
    sentAtMs,
    probeNonceBytes(nonce),
  )
  return inserted === 1
}
