import type { Variant } from './change.js'
import type { UrlParts } from './request-urls.js'

/** One value of each input: secret, URL, timestamp, hash of the body. */
export type Inputs = readonly [Variant<Buffer>, Variant<UrlParts>, Variant<string>, Variant<string>]

/** The same as lists. */
type InputLists = readonly [
  readonly Variant<Buffer>[],
  readonly Variant<UrlParts>[],
  readonly Variant<string>[],
  readonly Variant<string>[],
]

/** Every choice of one variant from each list that has exactly so many changes in all, and so much weight. */
export function* choices(lists: InputLists, changes: number, weight: number): Iterable<Inputs> {
  const [secrets, urls, timestamps, bodyHashes] = lists
  // Groups first, so that no time is spent on variants that cannot be combined to these sums.
  for (const ofSecret of groups(secrets, changes, weight)) {
    for (const ofUrl of groups(urls, changes - ofSecret.changes, weight - ofSecret.weight)) {
      const changesLeft = changes - ofSecret.changes - ofUrl.changes
      const weightLeft = weight - ofSecret.weight - ofUrl.weight
      for (const ofTimestamp of groups(timestamps, changesLeft, weightLeft)) {
        const ofBody = groups(
          bodyHashes,
          changesLeft - ofTimestamp.changes,
          weightLeft - ofTimestamp.weight,
        ).find(
          (each) =>
            each.changes === changesLeft - ofTimestamp.changes &&
            each.weight === weightLeft - ofTimestamp.weight,
        )
        if (!ofBody) continue
        for (const secret of ofSecret.variants)
          for (const url of ofUrl.variants)
            for (const timestamp of ofTimestamp.variants)
              for (const bodyHash of ofBody.variants) yield [secret, url, timestamp, bodyHash]
      }
    }
  }
}

interface Group<Each> {
  readonly changes: number
  readonly weight: number
  readonly variants: Each[]
}

/** The variants by number of changes and weight, without those that exceed one of the two. */
function groups<Each extends Variant<unknown>>(
  variants: readonly Each[],
  maxChanges: number,
  maxWeight: number,
): Group<Each>[] {
  const found = new Map<string, Group<Each>>()
  for (const variant of variants) {
    const { causes, weight } = variant
    if (causes.length > maxChanges || weight > maxWeight) continue
    const key = `${causes.length} ${weight}`
    const group = found.get(key)
    if (group) group.variants.push(variant)
    else found.set(key, { changes: causes.length, weight, variants: [variant] })
  }
  return [...found.values()]
}
