import { defaultSubscriptionId } from '../../callback/callback.js'
import type { Arrival } from '../engine.js'
import type { ArrivedHeaders } from '../operations.js'
import { storedHeaders } from '../stored-headers.js'

type Pairs = ArrivedHeaders['pairs']

/** The headers of a callback as they are stored: those that its source has, and with the callback only the others. */
interface DividedHeaders {
  readonly common: string | null
  readonly own: string | null
}

interface Learned {
  readonly common: { readonly pairs: Pairs; readonly stored: string } | undefined
  /** What the latest ones have in common, which lack some of `common`, and how many they are. */
  readonly candidate: Pairs
  readonly missed: number
}

/** After how many callbacks in a row the headers that these share become the common ones. Each such list is a row, for ever. */
const LEARNED_FROM = 32
/** Shorter than that, in characters of JSON, is not worth a row. */
const MIN_LENGTH = 64

/**
 * Finds out which headers the callbacks of a subscription have in common. These are most of the bytes, and are stored once. What is
 * learned is lost with the process. Another one finds the same, which then is the same source.
 */
export class CommonHeaders {
  readonly #learned = new Map<string, Learned>()

  divide({ callback, headers }: HeadersOfCallback): DividedHeaders {
    const common = this.#learned.get(defaultSubscriptionId(callback.subscription))?.common
    if (!headers || !common || !areWithin(headers.pairs, common.pairs))
      return { common: null, own: storedHeaders(headers) }
    return { common: common.stored, own: without(headers, common.pairs) }
  }

  /**
   * Only for a new callback that was stored. Headers are not signed: with repeats of one delivery anyone could change what is common.
   */
  learn({ callback, headers }: HeadersOfCallback): void {
    if (headers === undefined) return
    const key = defaultSubscriptionId(callback.subscription)
    const { common, candidate, missed } = this.#learned.get(key) ?? NOTHING_LEARNED
    if (common && areWithin(headers.pairs, common.pairs)) {
      if (missed > 0) this.#learned.set(key, { ...NOTHING_LEARNED, common })
      return
    }
    const pairs = missed === 0 ? headers.pairs : inBoth(candidate, headers.pairs)
    const isLearned = missed + 1 === LEARNED_FROM
    this.#learned.set(
      key,
      isLearned
        ? { ...NOTHING_LEARNED, common: worthARow(pairs) }
        : { common, candidate: pairs, missed: missed + 1 },
    )
  }
}

type HeadersOfCallback = Pick<Arrival, 'callback' | 'headers'>

const NOTHING_LEARNED: Learned = { common: undefined, candidate: [], missed: 0 }

function worthARow(pairs: Pairs): Learned['common'] {
  const stored = storedHeaders({ pairs, isCut: false })!
  return stored.length < MIN_LENGTH ? undefined : { pairs, stored }
}

/** The headers of a callback, as `storedHeaders` returns them. */
export function wholeHeaders({ common, own }: DividedHeaders): string | null {
  if (common === null || own === null) return own
  const left = JSON.parse(common) as string[]
  const list = JSON.parse(own) as (string | number | true)[]
  const whole = list.flatMap((each) => (typeof each === 'number' ? left.splice(0, 2 * each) : [each]))
  return JSON.stringify(whole)
}

/** As `storedHeaders` writes them, with a number for so many of the common ones. */
function without({ pairs, isCut }: ArrivedHeaders, common: Pairs): string {
  const list: (string | number | true)[] = []
  let found = 0
  let run = 0
  for (const pair of pairs) {
    if (found < common.length && areSame(pair, common[found]!)) {
      found++
      run++
      continue
    }
    if (run > 0) list.push(run)
    run = 0
    list.push(pair[0], pair[1])
  }
  if (run > 0) list.push(run)
  if (isCut) list.push(true)
  return JSON.stringify(list)
}

/** Whether all the common ones are among them, in the same order. */
function areWithin(pairs: Pairs, common: Pairs): boolean {
  let found = 0
  for (const pair of pairs) if (found < common.length && areSame(pair, common[found]!)) found++
  return found === common.length
}

/** If a sender changes their order, they are never all found, and each callback keeps its own. */
function inBoth(pairs: Pairs, others: Pairs): Pairs {
  return pairs.filter((pair) => others.some((other) => areSame(pair, other)))
}

function areSame(one: Pairs[number], other: Pairs[number]): boolean {
  return one[0] === other[0] && one[1] === other[1]
}
