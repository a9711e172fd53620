import type { AddResult, Arrival } from '../inbox.js'
import { insertNew } from './insert-new.js'
import { lockOrderKeys, orderKeyOf, promoteNext } from './order.js'
import { recordKnown } from './record-known.js'
import type { Transaction, TransactionSettings } from './transaction.js'

/** An arrival. It cannot be new if it has been tried as a new one already. */
export interface TriedArrival {
  readonly arrival: Arrival
  readonly mayBeNew: boolean
}

/** Stores those of the arrivals that are not known. Returns the results in their order, and whether an entry is due now. */
export async function addAll(
  tx: Transaction,
  given: readonly TriedArrival[],
  settings: TransactionSettings,
): Promise<{ results: AddResult[]; isAnyDue: boolean }> {
  const arrivals = given.map(({ arrival }) => arrival)
  // Trying the others again would take 17 percent of the processor time of a repeat.
  const possiblyNewAt = [...given.keys()].filter(
    (index) => given[index]!.mayBeNew && arrivals[index]!.suspicion === undefined,
  )
  const possiblyNew = possiblyNewAt.map((index) => arrivals[index]!)
  await lockOrderKeys(tx, possiblyNew.flatMap(orderKeysOf), settings.schema)
  const inserted = await insertNew(tx.all, possiblyNew, settings)
  const idAt = new Map(possiblyNewAt.map((index, position) => [index, inserted?.[position]]))
  const others = arrivals.filter((_, index) => idAt.get(index) === undefined)
  const known = (await recordKnown(tx, others, settings)).values()
  const results = arrivals.map((_, index): AddResult => {
    const id = idAt.get(index)
    return id === undefined ? known.next().value! : { result: 'stored', id }
  })
  const stored = arrivals.filter((_, index) => results[index]!.result === 'stored')
  await promoteNext(tx, [...new Set(stored.flatMap(orderKeysOf))])
  return { results, isAnyDue: stored.length > 0 }
}

function orderKeysOf({ orderKey }: Arrival): string[] {
  return orderKey === undefined ? [] : [orderKeyOf(orderKey)]
}
