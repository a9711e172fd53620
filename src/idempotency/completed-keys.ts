import { Buffer } from 'node:buffer'
import type { KnownOfArrival } from '../callback/recognition.js'
import { FingerprintIndex, NONE } from './fingerprint-index.js'
import { BODY, KEY, RecordRing, SIGNATURE, type Field } from './record-ring.js'

/** What identifies a callback; each field is 32 bytes in standard Base64 (44 characters). */
export interface HashedCallback {
  /** SHA-256 of the idempotency key. */
  readonly key: string
  readonly bodyHash: string
  readonly signature: string
}

export type Completed = Pick<KnownOfArrival, 'key' | 'signature'>

/**
 * Completed callbacks in about 65 bytes each. A Map of objects uses about ten times as much. The garbage collector does
 * not traverse typed arrays.
 *
 * 12 bytes are kept of each of the three hashes. The probability that two of a million different keys share them is
 * 10^-17. An attacker cannot construct such a collision or long probe sequences: only callbacks with a valid signature
 * are recorded, and the recorded values are outputs of SHA-256 and of an HMAC whose key only the service knows.
 *
 * Records are in the order of completion. A key has several records if it was delivered with several signatures. The
 * indexes point to the newest record of a key and of a signature.
 */
export class CompletedKeys {
  readonly #records: RecordRing
  readonly #byKey: FingerprintIndex
  readonly #bySignature: FingerprintIndex
  readonly #maxRecords: number
  readonly #wanted = new Uint32Array(16)
  readonly #wantedBytes = Buffer.from(this.#wanted.buffer)
  #latestExpiry = -Infinity

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords
    this.#records = new RecordRing(maxRecords)
    // An index grows in shards, because growing a single table would block the process for a second. When the store is
    // full, shards of 8192 slots are 70 % full, just below the limit for the next growth.
    const shards = Math.ceil(maxRecords / 5700)
    this.#byKey = new FingerprintIndex(this.#records, KEY, shards)
    this.#bySignature = new FingerprintIndex(this.#records, SIGNATURE, shards)
  }

  get size(): number {
    return this.#records.length
  }

  /** What is known of the key and the signature of a callback. */
  find(callback: HashedCallback, now: number): Completed {
    this.#decode(callback)
    const sameKey = this.#unexpired(this.#byKey.find(this.#wanted), now)
    const key = this.#compared(sameKey, BODY, 'same-body', 'other-body')
    // First by the record of the key: a late end can leave one signature completed under two keys.
    if (key === 'same-body' && this.#records.matches(sameKey, SIGNATURE, this.#wanted))
      return { key, signature: 'same-key' }
    const sameSignature = this.#unexpired(this.#bySignature.find(this.#wanted), now)
    return { key, signature: this.#compared(sameSignature, KEY, 'same-key', 'other-key') }
  }

  /** Records a callback until `expiresAt`. Returns whether an unexpired record was removed to make room. */
  add(callback: HashedCallback, expiresAt: number, now: number): boolean {
    this.#decode(callback)
    const isFull = this.#records.length === this.#maxRecords
    const forgotEarly = isFull && this.#records.expiry(this.#records.oldest) > now
    if (isFull) this.#removeOldest()
    // If the clock was set back, a record must not expire before an older one, because only the oldest is checked.
    this.#latestExpiry = Math.max(this.#latestExpiry, expiresAt)
    const position = this.#records.append(this.#wanted, this.#latestExpiry)
    this.#byKey.point(this.#wanted, position)
    this.#bySignature.point(this.#wanted, position)
    return forgotEarly
  }

  /** Removes at most `limit` expired records, so that no call takes long. `find` ignores the remaining ones. */
  removeExpired(now: number, limit: number): void {
    for (let removed = 0; removed < limit && this.#records.length > 0; removed++) {
      if (this.#records.expiry(this.#records.oldest) > now) return
      this.#removeOldest()
    }
  }

  #removeOldest(): void {
    const { oldest } = this.#records
    this.#byKey.remove(oldest)
    this.#bySignature.remove(oldest)
    this.#records.removeOldest()
  }

  #compared<Same extends string, Other extends string>(
    position: number,
    field: Field,
    same: Same,
    other: Other,
  ): Same | Other | 'unknown' {
    if (position === NONE) return 'unknown'
    return this.#records.matches(position, field, this.#wanted) ? same : other
  }

  #unexpired(position: number, now: number): number {
    return position !== NONE && this.#records.expiry(position) > now ? position : NONE
  }

  #decode({ key, bodyHash, signature }: HashedCallback): void {
    // Each write overwrites the end of the previous one. The result is the first 12 bytes of each of the three.
    if (
      this.#wantedBytes.write(key, 0, 32, 'base64') !== 32 ||
      this.#wantedBytes.write(bodyHash, 12, 32, 'base64') !== 32 ||
      this.#wantedBytes.write(signature, 24, 32, 'base64') !== 32
    ) {
      throw new TypeError('bodyHash and signature of a claim must each be 32 bytes in Base64 (44 characters)')
    }
  }
}
