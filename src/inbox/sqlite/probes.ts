import { probeNonceBytes } from '../identity.js'
import type { Connection } from './connection.js'

/** Returns false if the nonce is known. It is stored like the signature of an entry that does not exist. */
export function rememberProbe(
  db: Connection,
  nonce: string,
  sentAtMs: number,
  forgetBeforeMs: number,
): boolean {
  db.run('DELETE FROM more_signatures WHERE entry_id = 0 AND signed_at < ?', forgetBeforeMs)
  const { changes } = db.run(
    'INSERT INTO more_signatures (signature, entry_id, signed_at) VALUES (?, 0, ?) ON CONFLICT DO NOTHING',
    probeNonceBytes(nonce),
    sentAtMs,
  )
  return changes === 1
}
