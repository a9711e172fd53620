import type { AddResult, Arrival } from '../inbox.js'
import { insertNew } from './insert-new.js'
import { lockOrderKeys, orderKeyOf, promoteNext } from './order.js'
import { recordKnown } from './record-known.js'
import type { Transaction, TransactionSettings } from './transaction.js'

/** Stores those of the arrivals that are not known. Returns the results in their order, and whether an entry is due now. */
export async function addAll(
  tx: Transaction,
  arrivals: readonly Arrival[],
  settings: TransactionSettings,
): Promise<{ results: AddResult[]; isAnyDue: boolean }> {
  const genuine = [...arrivals.entries()].filter(([, { suspicion }]) => suspicion === undefined)
  const possiblyNew = genuine.map(([, arrival]) => arrival)
  await lockOrderKeys(tx, possiblyNew.flatMap(orderKeysOf), settings.schema)
  const inserted = await insertNew(tx.all, possiblyNew, settings)
  const idAt = new Map(genuine.map(([index], position) => [index, inserted?.[position]]))
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
