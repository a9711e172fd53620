import type { AddResult, Arrival } from '../inbox.js'
import { InboxConflict } from './inbox-error.js'
import { insertNew } from './insert-new.js'
import { lockOrderKeys, orderKeyOf, promoteNext } from './order.js'
import { recordKnown } from './record-known.js'
import type { Transaction } from './transaction.js'

/** Stores those of the arrivals that are not known. Returns the results in their order, and whether an entry is due now. */
export async function addAll(
  tx: Transaction,
  arrivals: readonly Arrival[],
  schema: string,
): Promise<{ results: AddResult[]; isAnyDue: boolean }> {
  const results: AddResult[] = []
  const orderKeys = new Set<string>()
  const genuine = [...arrivals.entries()].filter(([, { suspicion }]) => suspicion === undefined)
  const batch = genuine.map(([, arrival]) => arrival)
  await lockOrderKeys(tx, batch.flatMap(orderKeysOf), schema)
  const stored = await insertNew(tx, batch)
  for (const [position, id] of stored) {
    const [index, arrival] = genuine[position]!
    results[index] = { result: 'stored', id }
    for (const key of orderKeysOf(arrival)) orderKeys.add(key)
  }
  const others = [...arrivals.entries()].filter(([index]) => results[index] === undefined)
  const known = await recordKnown(
    tx,
    others.map(([, arrival]) => arrival),
  )
  for (const [position, [index, arrival]] of others.entries()) {
    results[index] = known[position]!
    if (results[index].result === 'stored') for (const key of orderKeysOf(arrival)) orderKeys.add(key)
  }
  await promoteNext(tx, [...orderKeys])
  await checkNotForgotten(
    tx,
    arrivals.filter((_, index) => results[index]?.result === 'stored'),
  )
  return { results, isAnyDue: results.some(({ result }) => result === 'stored') }
}

function orderKeysOf({ orderKey }: Arrival): string[] {
  return orderKey === undefined ? [] : [orderKeyOf(orderKey)]
}

/**
 * Since the statement above began, another transaction may have deleted an entry that one of these arrivals repeats. By now
 * that deletion is recorded.
 */
async function checkNotForgotten(tx: Transaction, stored: readonly Arrival[]): Promise<void> {
  if (stored.length === 0) return
  const earliest = Math.min(...stored.map(({ callback }) => Number(callback.signedAt)))
  const forgotten = await tx.all('SELECT 1 FROM deleted WHERE signed_at >= $1', earliest)
  if (forgotten.length > 0) throw new InboxConflict('entries were deleted meanwhile')
}
