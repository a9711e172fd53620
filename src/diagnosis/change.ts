import type { Cause, CauseTexts } from './causes.js'

/** How unlikely a change is: 1 is a frequent mistake. Pairs are tried in the order of their sums. */
export type Weight = 1 | 2 | 3

/** Another value that an input may have had when the callback was signed. */
export interface Alternative<Value> {
  readonly value: Value
  /** What was changed, in fixed words: it is part of the finding. */
  readonly change: string
  /** @default 1 */
  readonly weight?: Weight
  /** The place in `previousSecrets` of the secret that it is. */
  readonly previousSecret?: number
}

/** A mistake that changes one input of the signature. It gives a bounded number of alternatives for a value. */
export interface Hypothesis<Value> {
  readonly cause: Cause
  /** Whether it is not combined with another change of the same input, because its alternatives take too long or are too many. */
  readonly isSlow?: true
  alternatives(value: Value): Iterable<Alternative<Value>>
}

/** A value of an input, with the changes that lead to it: none, one or two. */
export interface Variant<Value> {
  readonly value: Value
  readonly causes: readonly Cause[]
  readonly changes: readonly string[]
  readonly weight: number
  /** The place in `previousSecrets` of the secret from which it was made. */
  readonly previousSecret?: number | undefined
  /** What its cause says in this case, if that is more than it always says. */
  readonly texts?: CauseTexts
}

export function unchanged<Value>(value: Value): Variant<Value> {
  return { value, causes: [], changes: [], weight: 0 }
}

export interface VariantOptions {
  /** Ends the list early. */
  readonly isOver?: () => boolean
  /** @default true */
  readonly withPairs?: boolean
}

/** Pairs of changes of one input are added up to this number of variants. An explanation has 2,000 HMACs at most. */
const MAX_VARIANTS = 1_000

/**
 * The value itself, every single change of it, and pairs of its frequent changes, in this order and each value once. The
 * first explanation of a value is kept, as frequent changes come first.
 */
export function variants<Value>(
  base: Variant<Value>,
  hypotheses: readonly Hypothesis<Value>[],
  identity: (value: Value) => string,
  { isOver = () => false, withPairs = true }: VariantOptions = {},
): Variant<Value>[] {
  const seen = new Set([identity(base.value)])
  const found: Variant<Value>[] = [base]
  const add = (from: Variant<Value>, maxWeight: Weight) => {
    const added: Variant<Value>[] = []
    for (const { cause, isSlow, alternatives } of hypotheses) {
      if (isOver()) return added
      if (from.causes.includes(cause) || (isSlow && from !== base)) continue
      for (const { value, change, weight = 1, previousSecret = from.previousSecret } of alternatives(
        from.value,
      )) {
        if (isOver()) return added
        if (weight > maxWeight) continue
        const id = identity(value)
        if (seen.has(id)) continue
        seen.add(id)
        added.push({
          value,
          causes: [...from.causes, cause],
          changes: [...from.changes, change],
          weight: from.weight + weight,
          ...(previousSecret !== undefined && { previousSecret }),
        })
      }
    }
    return added
  }
  const singles = add(base, 3).sort((one, other) => one.weight - other.weight)
  found.push(...singles)
  // A base that is a change itself, such as a renamed header, has one change left.
  if (base.causes.length > 0 || !withPairs) return found
  for (const single of singles) {
    if (found.length >= MAX_VARIANTS) break
    if (single.weight === 1) found.push(...add(single, 1))
  }
  return found
}
