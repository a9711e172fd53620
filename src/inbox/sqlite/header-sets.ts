import { formatHttpDate } from '../../signature/timestamp.js'
import type { Statements } from './driver.js'

/**
 * Headers in the form of `storedHeaders`, without what most callbacks have in common: the names, and the values that did not differ, are
 * stored once as a set. A value of a set is a text, or says where the value is: in the entry, or among the others (null).
 */
type HeaderSet = readonly (string | null | true | Reference)[]

/** The headers that repeat what the entry has anyway. */
type Reference = 0 | 1 | 2

/** What the references stand for, in this order. */
export interface Referred {
  readonly idempotencyKey: string
  readonly type: string
  readonly signedAt: number
}

export interface PackedHeaders {
  /** Null if the headers are stored whole, or if there are none. */
  readonly set: number | null
  /** JSON. Null if the set has all, or if there are none. */
  readonly headers: string | null
}

/** More sets would take longer to read than they save. A sender that varies its headers so much has them stored whole. */
const MAX_SETS = 200

/** The sets of one connection. */
export class HeaderSets {
  /** By the names of the headers, the set that was made last. */
  #byNames: Map<string, NumberedSet> | undefined
  #count = 0
  /** The set of the entry before. Most entries have the same one. */
  #latest: NumberedSet | undefined
  #time = { at: Number.NaN, text: '' }

  /** To be called when a transaction was rolled back: it may have made a set. */
  forget(): void {
    this.#byNames = this.#latest = undefined
  }

  pack(db: Statements, stored: string | null, referred: Referred): PackedHeaders {
    if (stored === null) return { set: null, headers: null }
    const list = JSON.parse(stored) as (string | true)[]
    const references = [referred.idempotencyKey, referred.type, this.#timeOf(referred.signedAt)]
    const own = this.#latest && valuesBeside(this.#latest.set, list, references)
    if (own) return packed(this.#latest!.number, own)
    const found = this.#find(db, list, references)
    if (!found) return { set: null, headers: stored }
    this.#latest = found
    return packed(found.number, valuesBeside(found.set, list, references)!)
  }

  /** A set with these names that leaves out what differs. Undefined if there are too many sets. */
  #find(
    db: Statements,
    list: readonly (string | true)[],
    references: readonly string[],
  ): NumberedSet | undefined {
    this.#byNames ??= this.#read(db)
    const names = namesIn(list)
    const known = this.#byNames.get(names)
    if (known && valuesBeside(known.set, list, references)) return known
    if (this.#count >= MAX_SETS) return undefined
    const set = list.map((value, index) => {
      // Names are never references.
      const reference = index % 2 === 0 ? -1 : references.indexOf(value as string)
      const wanted = reference === -1 ? value : (reference as Reference)
      return !known || known.set[index] === wanted ? wanted : null
    })
    const number = db.run('INSERT INTO header_sets (pairs) VALUES (?)', JSON.stringify(set)).lastId
    this.#count++
    const made = { number, set }
    this.#byNames.set(names, made)
    return made
  }

  #read(db: Statements): Map<string, NumberedSet> {
    const rows = db.all<{ number: number; pairs: string }>(
      'SELECT number, pairs FROM header_sets ORDER BY number',
    )
    this.#count = rows.length
    return new Map(
      rows.map(({ number, pairs }) => {
        const set = JSON.parse(pairs) as HeaderSet
        return [namesIn(set), { number, set }]
      }),
    )
  }

  #timeOf(signedAt: number): string {
    if (signedAt !== this.#time.at) this.#time = { at: signedAt, text: formatHttpDate(new Date(signedAt)) }
    return this.#time.text
  }
}

interface NumberedSet {
  readonly number: number
  readonly set: HeaderSet
}

function namesIn(list: readonly unknown[]): string {
  return JSON.stringify(list.filter((_, index) => index % 2 === 0))
}

function packed(set: number, own: readonly unknown[]): PackedHeaders {
  return { set, headers: own.length === 0 ? null : JSON.stringify(own) }
}

/** What an entry has beside the set. Undefined if that is not its set. */
function valuesBeside(
  set: HeaderSet,
  list: readonly (string | true)[],
  references: readonly string[],
): (string | Reference)[] | undefined {
  if (set.length !== list.length) return undefined
  const own: (string | Reference)[] = []
  for (let index = 0; index < list.length; index++) {
    const [common, value] = [set[index]!, list[index]!]
    if (common === value) continue
    if (common === null) own.push(value as string)
    else if (typeof common !== 'number' || references[common] !== value) return undefined
  }
  return own
}

/** `pairs`: of the set of an entry. */
export function unpackHeaders(
  { pairs, headers }: { readonly pairs: string | null; readonly headers: string | null },
  { idempotencyKey, type, signedAt }: Referred,
): string | null {
  if (pairs === null) return headers
  const own = headers === null ? [] : (JSON.parse(headers) as (string | Reference)[])
  const referred = [idempotencyKey, type, formatHttpDate(new Date(signedAt))]
  const textOf = (value: string | true | Reference) => (typeof value === 'number' ? referred[value] : value)
  let next = 0
  const list = (JSON.parse(pairs) as HeaderSet).map((value) => textOf(value ?? own[next++]!))
  return JSON.stringify(list)
}
