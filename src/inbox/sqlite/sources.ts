import { ownSubscriptionId, type VerifiedCallback } from '../../callback/callback.js'
import type { Statements } from './driver.js'

/** What is the same for all callbacks that a secret of a subscription has signed. */
export interface SourceRow {
  readonly subscribed_type: string
  readonly callback_url: string
  readonly description: string | null
  readonly subscription_id: string | null
  readonly secret_fingerprint: string
}

/** After how long the last use of a secret is recorded again, in milliseconds of the time that is signed. */
export const LAST_USE_STEP_MS = 60_000

/** The sources of one connection, so that they are looked up once. */
export class Sources {
  readonly #numbers = new Map<string, number>()
  readonly #rows = new Map<number, SourceRow>()
  /** By number, the last use that is recorded. */
  readonly #lastSignedAt = new Map<number, number>()

  /** To be called when a transaction was rolled back: it may have made a source. */
  forget(): void {
    this.#numbers.clear()
    this.#rows.clear()
    this.#lastSignedAt.clear()
  }

  /** The number of a callback's source, which is made if there is none. */
  numberOf(
    db: Statements,
    { subscription, secretFingerprint }: Pick<VerifiedCallback, 'subscription' | 'secretFingerprint'>,
  ): number {
    const { id: fullId, eventTypeName, callbackUrl, description = '' } = subscription
    // Neither a type nor a URL has a line feed, and a fingerprint is hexadecimal.
    const key = `${secretFingerprint}\n${eventTypeName}\n${callbackUrl}\n${fullId.length}\n${fullId}${description}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const id = ownSubscriptionId(subscription)
    const values = [eventTypeName, callbackUrl, description || null, id || null, secretFingerprint] as const
    db.run(INSERT, ...values)
    const { number } = db.get<{ number: number }>(FIND, ...values)!
    this.#numbers.set(key, number)
    return number
  }

  rowOf(db: Statements, number: number): SourceRow {
    let row = this.#rows.get(number)
    if (!row) this.#rows.set(number, (row = db.get<SourceRow>(READ, number)!))
    return row
  }

  /** Records when a secret was used last, at most once a minute. */
  signed(db: Statements, number: number, signedAt: number): void {
    if (signedAt <= (this.#lastSignedAt.get(number) ?? -Infinity) + LAST_USE_STEP_MS) return
    db.run(RECORD, signedAt, number)
    const { last_signed_at: latest } = db.get<{ last_signed_at: number }>(LAST_SIGNED, number)!
    this.#lastSignedAt.set(number, latest)
  }
}

const INSERT = `
  INSERT INTO sources (subscribed_type, callback_url, description, subscription_id, secret_fingerprint)
  VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
const FIND = `
  SELECT number FROM sources WHERE subscribed_type = ? AND callback_url = ? AND description IS ? AND subscription_id IS ?
    AND secret_fingerprint = ?`
const READ = `
  SELECT subscribed_type, callback_url, description, subscription_id, secret_fingerprint FROM sources WHERE number = ?`
const RECORD = `
  UPDATE sources SET last_signed_at = ?1
  WHERE number = ?2 AND ifnull(last_signed_at, -9e15) + ${LAST_USE_STEP_MS} < ?1`
const LAST_SIGNED = 'SELECT last_signed_at FROM sources WHERE number = ?'
