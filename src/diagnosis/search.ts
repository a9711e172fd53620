import { createHmac } from 'node:crypto'
import { joinSigned } from '../signature/string-to-sign.js'
import type { Variant } from './change.js'
import type { SearchLimit } from './search-limit.js'
import { isSame, type ReceivedSignature } from './signature-marker.js'
import type { UrlParts } from './request-urls.js'
import { choices, type Inputs } from './variant-choices.js'

/** The inputs of a signature that differ by subscription, each with the values that it may have had. */
export interface SearchSpace<Subscription> {
  readonly subscription: Subscription
  /** The variants of each secret of the subscription. */
  readonly secrets: readonly (readonly Variant<Buffer>[])[]
  readonly urls: readonly Variant<UrlParts>[]
}

/** The inputs that all subscriptions have in common. */
interface SharedInputs {
  readonly timestamps: readonly Variant<string>[]
  readonly bodyHash: Variant<string>
  /** Called at most once. Other bodies take more time than everything else and are often not needed. */
  readonly otherBodyHashes: () => readonly Variant<string>[]
  /** Each has 32 bytes, as a digest. */
  readonly signatures: readonly ReceivedSignature[]
}

/** Values that give a signature that arrived. */
export interface Match<Subscription> {
  readonly subscription: Subscription
  /** Secret, URL, timestamp and body hash. */
  readonly inputs: Inputs
  readonly signature: Variant<Buffer>
}

interface SearchResult<Subscription> {
  readonly matches: readonly Match<Subscription>[]
  /** Whether every single change was tried and did not match. */
  readonly triedSingles: boolean
}

const MAX_CHANGES = 2
const MAX_SINGLE_WEIGHT = 3

/**
 * Finds the values with the fewest changes that give a signature: the values as they are, then every single change, then
 * pairs, frequent ones first. After a match, the search continues only among the other single changes of secret, URL and
 * timestamp, as another one may be equally true.
 */
export function search<Subscription>(
  spacesOf: (changed: 'as-configured' | 'changed') => readonly SearchSpace<Subscription>[],
  { timestamps, bodyHash, otherBodyHashes, signatures }: SharedInputs,
  limit: SearchLimit,
): SearchResult<Subscription> {
  const matches: Match<Subscription>[] = []
  let triedSingles = false
  if (signatures.length === 0) return { matches, triedSingles }

  let spaces = limit.halfOf(spacesOf('as-configured'), ({ secrets }) => secrets.length)
  const tryAll = (changes: number, weight: number, bodyHashes: readonly Variant<string>[]) => {
    const received = signatures.filter(({ causes }) => causes.length + changes <= MAX_CHANGES)
    if (received.length === 0) return
    for (const { subscription, secrets, urls } of spaces) {
      for (const list of secrets) {
        for (const inputs of choices([list, urls, timestamps, bodyHashes], changes, weight)) {
          if (!limit.take()) return
          const digest = signatureOf(inputs)
          for (const signature of received) {
            if (isSame(digest, signature)) matches.push({ subscription, inputs, signature })
          }
        }
      }
    }
  }

  const asReceived = [bodyHash]
  tryAll(0, 0, asReceived)
  // Listing the changes takes time as well.
  if (matches.length > 0 || limit.isOver) return { matches, triedSingles }
  spaces = spacesOf('changed')
  for (let weight = 1; weight <= MAX_SINGLE_WEIGHT; weight++) tryAll(1, weight, asReceived)
  if (matches.length > 0 || limit.isOver) return { matches, triedSingles }

  const others = otherBodyHashes()
  for (let weight = 1; weight <= MAX_SINGLE_WEIGHT && matches.length === 0; weight++) {
    // Without the body as it arrived, each choice has one change of the body and no other.
    tryAll(1, weight, others)
  }
  triedSingles = limit.stoppedBy === undefined
  const bodyHashes = [bodyHash, ...others]
  for (let weight = 2; weight <= 2 * MAX_SINGLE_WEIGHT && matches.length === 0; weight++) {
    tryAll(2, weight, bodyHashes)
  }
  return { matches, triedSingles }
}

/** What is signed with these values. */
export function signatureOf([secret, url, timestamp, bodyHash]: Inputs, algorithm = 'sha256'): Buffer {
  const { host, path, query } = url.value
  const signed = { pathLine: `${path}${query}\n`, hostField: `;${host};`, spelling: '' }
  return createHmac(algorithm, secret.value)
    .update(joinSigned(signed, timestamp.value, bodyHash.value))
    .digest()
}
