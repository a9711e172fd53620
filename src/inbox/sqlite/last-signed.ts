import { createHmac, type KeyObject } from 'node:crypto'
import { secretFingerprint } from '../../callback/secret-fingerprint.js'
import { signedUrl, type SignedUrl } from '../../signature/callback-url.js'
import { formatHttpDate } from '../../signature/index.js'
import { hmacKey } from '../../signature/secret.js'
import { hashBody, joinSigned } from '../../signature/string-to-sign.js'
import { bufferOf } from '../stored-entry.js'
import type { LastSigned, LastSignedReport, SigningSecret } from '../last-signed.js'
import type { Reader } from './read-inbox-file.js'
import { entryIdOf } from './row-id.js'

/** Limits for entries that were stored without a fingerprint. */
export interface LastSignedLimits {
  /** For how many entries the signature is computed again; those with the latest signing times first. @default 50_000 */
  readonly entries?: number
  /** How many bytes of bodies are hashed. @default 268_435_456 (256 MiB) */
  readonly bytes?: number
}

interface Candidate extends SigningSecret {
  readonly key: KeyObject
  readonly url: SignedUrl
  seen: LastSigned | undefined
}

/**
 * When each secret was last used to sign a callback that is stored. Entries have the fingerprint of their secret. Entries of
 * earlier versions have none: their signatures are computed again with each secret (SERVICE 5.1).
 *
 * The time of signing counts, not the time of arrival. Otherwise an attacker who sends a captured delivery again could make a
 * secret look used. An entry has the fingerprint of its first delivery: a repeat that was signed with another secret does not
 * count.
 * @throws SignatureInputError ERR_CALLBACK_URL_INVALID, ERR_SECRET_INVALID
 */
export function lastSigned(
  db: Reader,
  secrets: readonly SigningSecret[],
  limits: LastSignedLimits = {},
): LastSignedReport {
  const candidates = secrets.map((each): Candidate => {
    return { ...each, key: hmacKey(each.secret), url: signedUrl(each.callbackUrl), seen: undefined }
  })
  // The file is read as it is: an earlier version may have written it.
  const isCurrent = db.get(HAS_FINGERPRINTS) !== undefined
  let counted = 0
  if (isCurrent) {
    counted = db.get<{ count: number }>(COUNT_WITH_FINGERPRINT)!.count
    for (const each of candidates) each.seen = byFingerprint(db, each)
  }
  const { lookedAt, hasMore } = signAgain(db, candidates, isCurrent ? NEWEST_WITHOUT : NEWEST, limits)
  return { seen: candidates.map((each) => each.seen), lookedAt: counted + lookedAt, hasMore }
}

function byFingerprint(db: Reader, { key, eventTypeName, callbackUrl }: Candidate): LastSigned | undefined {
  const row = db.get<FoundRow>(LATEST_OF_SECRET, secretFingerprint(key), eventTypeName, callbackUrl)
  return row && lastSignedOf(row)
}

/** Searches the entries for a later callback of each candidate, and records it there. */
function signAgain(
  db: Reader,
  candidates: readonly Candidate[],
  newest: string,
  { entries = 50_000, bytes = 268_435_456 }: LastSignedLimits,
): Pick<LastSignedReport, 'lookedAt' | 'hasMore'> {
  const found = db.all<{ id: number; signed_at: number }>(newest, entries + 1)
  const isOpen = ({ seen }: Candidate, signedAt: number) => !seen || Number(seen.signedAt) < signedAt
  let lookedAt = 0
  let hashed = 0
  for (const { id, signed_at: signedAt } of found.slice(0, entries)) {
    const open = candidates.filter((each) => isOpen(each, signedAt))
    if (open.length === 0) return { lookedAt, hasMore: false }
    if (hashed >= bytes) break
    lookedAt++
    const row = db.get<EntryRow>(ENTRY, id)
    // The entry was deleted meanwhile, or belongs to another subscription.
    const possible = open.filter(
      (each) => each.callbackUrl === row?.callback_url && each.eventTypeName === row.subscribed_type,
    )
    if (!row || possible.length === 0) continue
    const body = db.get<{ body: Uint8Array }>('SELECT body FROM entries WHERE id = ?', id)
    if (!body) continue
    hashed += body.body.length
    const bodyHash = hashBody(bufferOf(body.body))
    const signer = signerOf(row, possible, (timestamp) => joinSigned(possible[0]!.url, timestamp, bodyHash))
    for (const each of possible) if (each.secret === signer?.secret) each.seen = lastSignedOf(row)
  }
  const next = found[lookedAt]
  return { lookedAt, hasMore: next !== undefined && candidates.some((each) => isOpen(each, next.signed_at)) }
}

function lastSignedOf({ id, signed_at: signedAt, received_at: receivedAt }: FoundRow): LastSigned {
  return { entry: entryIdOf(id), signedAt: new Date(signedAt), receivedAt: new Date(receivedAt) }
}

/** The secret that gives this signature. Half of a signature is stored (`Identity`), which is enough to distinguish secrets. */
function signerOf<Candidate extends { readonly key: KeyObject }>(
  { signature, signed_at: signedAt }: EntryRow,
  candidates: readonly Candidate[],
  textToSign: (timestamp: string) => string,
): Candidate | undefined {
  for (const timestamp of spellings(signedAt)) {
    const text = textToSign(timestamp)
    const signer = candidates.find(({ key }) =>
      createHmac('sha256', key).update(text).digest().subarray(0, signature.length).equals(signature),
    )
    if (signer) return signer
  }
  return undefined
}

/**
 * The forms in which the service may have written that second (RFC 9110, section 5.6.7), the usual one first. The text was
 * signed, but it is not stored.
 */
function spellings(signedAtMs: number): string[] {
  const fixdate = formatHttpDate(new Date(signedAtMs))
  const [weekday, day, month, year, time] = fixdate.split(/,? /) as [string, string, string, string, string]
  const longWeekday = new Date(signedAtMs).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' })
  return [
    fixdate,
    `${longWeekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`,
    `${weekday} ${month} ${day.replace(/^0/, ' ')} ${time} ${year}`,
    // The grammar also allows two digits.
    ...(day.startsWith('0') ? [`${weekday} ${month} ${day} ${time} ${year}`] : []),
  ]
}

interface FoundRow {
  readonly id: number
  readonly signed_at: number
  readonly received_at: number
}

interface EntryRow extends FoundRow {
  readonly subscribed_type: string
  readonly callback_url: string
  readonly signature: Uint8Array
}

const HAS_FINGERPRINTS = "SELECT 1 FROM pragma_table_info('entries') WHERE name = 'secret_fingerprint'"
const COUNT_WITH_FINGERPRINT = 'SELECT count(*) AS count FROM entries WHERE secret_fingerprint IS NOT NULL'
const LATEST_OF_SECRET = `
  SELECT id, signed_at, received_at FROM entries
  WHERE secret_fingerprint = ? AND subscribed_type = ? AND callback_url = ?
  ORDER BY signed_at DESC LIMIT 1`

// These two are answered from an index alone, so they read no more than the limit, however many entries there are.
const NEWEST = 'SELECT id, signed_at FROM entries ORDER BY signed_at DESC LIMIT ?'
const NEWEST_WITHOUT =
  'SELECT id, signed_at FROM entries WHERE secret_fingerprint IS NULL ORDER BY signed_at DESC LIMIT ?'
const ENTRY =
  'SELECT id, subscribed_type, callback_url, signed_at, received_at, signature FROM entries WHERE id = ?'
