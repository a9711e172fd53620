import { createHmac, type KeyObject } from 'node:crypto'
import { signedUrl } from '../../signature/callback-url.js'
import { formatHttpDate } from '../../signature/index.js'
import { hmacKey } from '../../signature/secret.js'
import { hashBody, joinSigned } from '../../signature/string-to-sign.js'
import type { Reader } from './read-inbox-file.js'
import { bufferOf } from './row.js'

/** One secret of a subscription. */
export interface SigningSecret {
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly secret: string
}

/** The latest stored callback that a secret has signed. */
export interface LastSigned {
  readonly entry: number
  readonly signedAt: Date
  readonly receivedAt: Date
}

export interface LastSignedReport {
  /** In the order of the secrets; undefined where the secret has signed none of what was looked at. */
  readonly seen: readonly (LastSigned | undefined)[]
  /** How many entries were looked at, those of other subscriptions included. */
  readonly lookedAt: number
  /** Whether older entries are left that were not looked at. */
  readonly hasMore: boolean
}

export interface LastSignedLimits {
  /** How many entries are looked at, those signed latest first. @default 50_000 */
  readonly entries?: number
  /** How many bytes of bodies are hashed. @default 268_435_456 (256 MiB) */
  readonly bytes?: number
}

/**
 * When each secret was last used to sign a callback that is stored, found by signing the stored ones again (SERVICE 5.1).
 * By the time of signing and not of arrival: a delivery that somebody has captured and sends again does not make a secret
 * look used. Repeats of a callback leave no trace here, whichever secret they were signed with.
 * @throws SignatureInputError ERR_CALLBACK_URL_INVALID, ERR_SECRET_INVALID
 */
export function lastSigned(
  db: Reader,
  secrets: readonly SigningSecret[],
  { entries = 50_000, bytes = 268_435_456 }: LastSignedLimits = {},
): LastSignedReport {
  const candidates = secrets.map((each) => ({
    ...each,
    key: hmacKey(each.secret),
    url: signedUrl(each.callbackUrl),
    seen: undefined as LastSigned | undefined,
  }))
  const ids = db.all<{ id: number }>(NEWEST, entries + 1)
  let lookedAt = 0
  let hashed = 0
  for (const { id } of ids.slice(0, entries)) {
    if (candidates.every(({ seen }) => seen) || hashed >= bytes) break
    lookedAt++
    const row = db.get<EntryRow>(ENTRY, id)
    // Deleted meanwhile, or of another subscription.
    const possible = candidates.filter(
      (each) => each.callbackUrl === row?.callback_url && each.eventTypeName === row.subscribed_type,
    )
    if (!row || possible.every(({ seen }) => seen)) continue
    const body = db.get<{ body: Uint8Array }>('SELECT body FROM entries WHERE id = ?', id)
    if (!body) continue
    hashed += body.body.length
    const bodyHash = hashBody(bufferOf(body.body))
    const signer = signerOf(row, possible, (timestamp) => joinSigned(possible[0]!.url, timestamp, bodyHash))
    for (const each of possible) {
      if (each.secret !== signer?.secret) continue
      const { signed_at: signedAt, received_at: receivedAt } = row
      each.seen ??= { entry: id, signedAt: new Date(signedAt), receivedAt: new Date(receivedAt) }
    }
  }
  const seen = candidates.map((each) => each.seen)
  return { seen, lookedAt, hasMore: lookedAt < ids.length && !seen.every(Boolean) }
}

/** Whose signature it is. Half of one is stored (identity.ts), which is enough to tell secrets apart. */
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
 * How the service may have written that second (RFC 9110, section 5.6.7), the usual way first. The text itself was signed,
 * and is not stored.
 */
function spellings(signedAtMs: number): string[] {
  const fixdate = formatHttpDate(new Date(signedAtMs))
  const [weekday, day, month, year, time] = fixdate.split(/,? /) as [string, string, string, string, string]
  const longWeekday = new Date(signedAtMs).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' })
  return [
    fixdate,
    `${longWeekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`,
    `${weekday} ${month} ${day.replace(/^0/, ' ')} ${time} ${year}`,
    // The grammar allows two digits, too.
    ...(day.startsWith('0') ? [`${weekday} ${month} ${day} ${time} ${year}`] : []),
  ]
}

interface EntryRow {
  readonly subscribed_type: string
  readonly callback_url: string
  readonly signed_at: number
  readonly received_at: number
  readonly signature: Uint8Array
}

// By the index, which holds nothing else: as many rows as wanted are read, however many there are.
const NEWEST = 'SELECT id FROM entries ORDER BY signed_at DESC LIMIT ?'
const ENTRY =
  'SELECT subscribed_type, callback_url, signed_at, received_at, signature FROM entries WHERE id = ?'
