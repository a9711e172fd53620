import { createHash, timingSafeEqual } from 'node:crypto'
import { FOREIGN_SCHEME_START } from '../base/credential-headers.js'
import { hashBody } from '../signature/string-to-sign.js'
import type { Cause } from './causes.js'
import { unchanged, type Variant } from './change.js'
import { valuesOf, type HeaderLine } from './received-request.js'
import { signatureOf, type Match, type SearchSpace } from './search.js'
import type { SearchLimit } from './search-limit.js'
import { hasSignature } from './signature-candidates.js'
import type { Inputs } from './variant-choices.js'

/** What may be a signature, with more or fewer than 32 bytes. */
export interface OtherSignature {
  /** Undefined if a capture has hidden them. */
  readonly bytes: Buffer | undefined
  readonly length: number
}

/** The algorithms whose HMAC has another length than that of SHA-256, by their length in bytes. */
const ALGORITHMS: ReadonlyMap<number, { readonly name: string; readonly shown: string }> = new Map([
  [20, { name: 'sha1', shown: 'SHA-1' }],
  [48, { name: 'sha384', shown: 'SHA-384' }],
  [64, { name: 'sha512', shown: 'SHA-512' }],
])

const SIGNATURE_BYTES = 32
/** With fewer bytes, a forged signature could be the beginning of a valid one by chance. */
const MIN_CUT_BYTES = 16
/** Unauthenticated: each is compared with every HMAC. */
const MAX_CANDIDATES = 8

/** 16 bytes or more, in hexadecimal digits or in either alphabet of Base64. */
const WORD = /(?<![\w+/-])[\w+/-]{22,}={0,2}(?![\w+/=-])/g
const HIDDEN = /\[hidden, (\d+) bytes\]/g

/** What a capture writes in place of a signature of another algorithm, which says no more than its length. */
export function hiddenLength(word: string): string | undefined {
  const text = word.replace(/^[\w-]+=(?=[^=])/, '')
  const { length } = bytesOf(text)
  return /^[\w+/-]+={0,2}$/.test(text) && ALGORITHMS.has(length) ? `[hidden, ${length} bytes]` : undefined
}

/** What may be signatures in Authorization, if it has none of 32 bytes and no other scheme. */
export function otherSignatures(lines: readonly HeaderLine[]): OtherSignature[] {
  const values = valuesOf(lines, 'authorization')
  if (values.some((value) => hasSignature(value) || FOREIGN_SCHEME_START.test(value))) return []
  return values
    .flatMap((value) => [
      ...[...value.matchAll(HIDDEN)].map(([, length]) => ({ bytes: undefined, length: Number(length) })),
      ...(value.match(WORD) ?? []).map(bytesOf).map((bytes) => ({ bytes, length: bytes.length })),
    ])
    .filter(({ length }) => ALGORITHMS.has(length) || isCut(length))
    .slice(0, MAX_CANDIDATES)
}

/** What the length of a signature may mean. It proves nothing. */
export function meaningOf({ length }: OtherSignature): string {
  const algorithm = ALGORITHMS.get(length)
  return algorithm
    ? `Authorization has a value of ${length} bytes, the length of HMAC-${algorithm.shown}`
    : `Authorization has a value of ${length} bytes, and a signature has ${SIGNATURE_BYTES}`
}

/** Whether the length is that of another algorithm. */
export function isOfOtherAlgorithm({ length }: OtherSignature): boolean {
  return ALGORITHMS.has(length)
}

interface TriedLengths<Subscription> {
  readonly match?: Match<Subscription>
  /** What did not match with any configured secret. Empty if not all of them were tried. */
  readonly ruledOut: readonly Cause[]
}

/**
 * Looks for a signature that the configured values give with the algorithm of its length, or of which it is the beginning. Each
 * algorithm costs two HMACs for each secret.
 */
export function tryOtherLengths<Subscription>(
  signatures: readonly OtherSignature[],
  spaces: readonly SearchSpace<Subscription>[],
  timestamp: Variant<string> | undefined,
  body: Buffer,
  limit: SearchLimit,
): TriedLengths<Subscription> {
  if (!timestamp || timestamp.causes.length > 0) return { ruledOut: [] }
  const received = signatures.flatMap(({ bytes }) => bytes ?? [])
  const trials = trialsOf(received, body)
  const tried = limit.halfOf(spaces, ({ secrets }) => trials.length * secrets.length)
  for (const { subscription, secrets, urls } of tried) {
    for (const [secret] of secrets) {
      for (const { algorithm, bodyHash, isSigned, cause, change } of trials) {
        if (!limit.take()) return { ruledOut: [] }
        const inputs: Inputs = [secret!, urls[0]!, timestamp, unchanged(bodyHash)]
        const digest = signatureOf(inputs, algorithm)
        const value = received.find((each) => isSigned(digest, each))
        if (!value) continue
        const signature = { value, causes: [cause], changes: [change], weight: 1 }
        return { match: { subscription, inputs, signature }, ruledOut: [] }
      }
    }
  }
  return { ruledOut: tried.length < spaces.length ? [] : [...new Set(trials.map(({ cause }) => cause))] }
}

interface Trial {
  readonly algorithm: string
  readonly bodyHash: string
  readonly isSigned: (digest: Buffer, received: Buffer) => boolean
  readonly cause: 'signature-algorithm' | 'authorization-scheme'
  readonly change: string
}

function trialsOf(received: readonly Buffer[], body: Buffer): Trial[] {
  const sha256 = hashBody(body)
  const trials: Trial[] = []
  for (const [length, { name, shown }] of ALGORITHMS) {
    if (!received.some((each) => each.length === length)) continue
    const ofAlgorithm = { algorithm: name, isSigned: isEqual, cause: 'signature-algorithm' as const }
    trials.push(
      { ...ofAlgorithm, bodyHash: sha256, change: `signed with HMAC-${shown}` },
      {
        ...ofAlgorithm,
        bodyHash: createHash(name).update(body).digest('base64'),
        change: `signed with HMAC-${shown}, and the hash of the body with ${shown}`,
      },
    )
  }
  if (received.some((each) => isCut(each.length)))
    trials.push({
      algorithm: 'sha256',
      bodyHash: sha256,
      isSigned: (digest, each) => isCut(each.length) && isEqual(digest.subarray(0, each.length), each),
      cause: 'authorization-scheme',
      change: 'only the beginning of the signature arrived',
    })
  return trials
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

function isCut(length: number): boolean {
  return length >= MIN_CUT_BYTES && length < SIGNATURE_BYTES
}

function bytesOf(word: string): Buffer {
  return Buffer.from(word, /^[\da-f]+$/i.test(word) ? 'hex' : 'base64')
}
