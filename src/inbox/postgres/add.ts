import type { AddResult } from '../engine.js'
import type { ArrivalToStore } from './arriving-rows.js'
import { InboxConflict } from './inbox-error.js'
import { insertNew, type StoringSettings } from './insert-new.js'
import { lockOrdersOfNew, promoteNext } from './order.js'
import { recordKnown } from './record-known.js'
import { textKey } from './text-key.js'
import type { Transaction } from './transaction.js'

/** An arrival. It cannot be new if it has been tried as a new one already. */
export interface TriedArrival {
  readonly arrival: ArrivalToStore
  readonly mayBeNew: boolean
}

/** Stores those of the arrivals that are not known. Returns the results in their order, and whether an entry is due now. */
export async function addAll(
  tx: Transaction,
  given: readonly TriedArrival[],
  settings: StoringSettings,
): Promise<{ results: AddResult[]; isAnyDue: boolean }> {
  const arrivals = given.map(({ arrival }) => arrival)
  // Trying the others again would take 17 percent of the processor time of a repeat.
  const unsuspicious = [...given.keys()].filter(
    (index) => given[index]!.mayBeNew && arrivals[index]!.suspicion === undefined,
  )
  const locked = await lockOrdersOfNew(
    tx,
    unsuspicious.map((index) => arrivals[index]!),
    settings.schema,
  )
  const isLocked = (arrival: ArrivalToStore) => orderKeysOf(arrival).every((key) => locked.has(key))
  const possiblyNewAt = unsuspicious.filter((index) => isLocked(arrivals[index]!))
  const possiblyNew = possiblyNewAt.map((index) => arrivals[index]!)
  const inserted = await insertNew(tx.all, possiblyNew, settings)
  const storedAt = new Map(possiblyNewAt.map((index, position) => [index, inserted?.[position]]))
  const others = arrivals.filter((_, index) => storedAt.get(index) === undefined)
  const known = (await recordKnown(tx, others, settings)).values()
  const results = arrivals.map((_, index): AddResult => storedAt.get(index) ?? known.next().value!)
  const stored = arrivals.filter((_, index) => results[index]!.result === 'stored')
  // The entry with its key has been deleted since, so that its order was not locked.
  if (!stored.every(isLocked)) throw new InboxConflict('an entry was deleted')
  await promoteNext(tx, [...new Set(stored.flatMap(orderKeysOf))])
  return { results, isAnyDue: results.some(isDue) }
}

/** Whether a worker may claim it now. */
export function isDue(added: AddResult): boolean {
  return added.result === 'stored' && added.claim === undefined
}

function orderKeysOf({ orderKey }: ArrivalToStore): string[] {
  return orderKey === undefined ? [] : [textKey(orderKey)]
}
