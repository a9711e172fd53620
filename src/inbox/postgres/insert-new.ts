import type { AddResult } from '../engine.js'
import { COLUMN_TYPES, columnsOf, type ArrivalToStore } from './arriving-rows.js'
import { callLeaseFunction, type LeaseRow } from './call-lease-function.js'
import type { CommonHeaders } from './common-headers.js'
import { storedText } from './sql-text.js'
import type { Transaction, TransactionSettings } from './transaction.js'

export interface StoringSettings extends TransactionSettings {
  /** What this process has learned. */
  readonly commonHeaders: CommonHeaders
}

/**
 * Stores those of which neither the signature nor the key is known and that were signed later than what was deleted. Returns
 * the results in the order of the arrivals, and undefined for the others. Of arrivals with the same key or signature only the first is
 * tried. With a `suspicion`, stores them in quarantine if no copy of them is there. Outside of a transaction this is one of its own.
 * Returns undefined if the session has an isolation level with which that is not possible: then it needs a transaction.
 * @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_FORBIDDEN, or what `all` throws
 */
export async function insertNew(
  all: Transaction['all'],
  arrivals: readonly ArrivalToStore[],
  settings: StoringSettings,
  suspicion?: string,
): Promise<(Stored | undefined)[] | undefined> {
  if (arrivals.length === 0) return []
  const seen = new Set<string>()
  const isFirst = arrivals.map(({ key, signature }) => {
    const isNew = !seen.has(key) && !seen.has(signature)
    seen.add(key).add(signature)
    return isNew
  })
  const { commonHeaders } = settings
  const tried = arrivals.filter((_, index) => isFirst[index])
  const values = [...columnsOf(tried, commonHeaders), suspicion === undefined ? null : storedText(suspicion)]
  const rows = await callLeaseFunction<StoredRow>(all, settings, 'store_new', PARAMETERS, values)
  if (!rows) return undefined
  const ids = rows[0]!.stored_ids.split(' ')
  if (suspicion === undefined)
    for (const [index, arrival] of tried.entries()) if (ids[index] !== '') commonHeaders.learn(arrival)
  const triedIds = ids.values()
  return isFirst.map((is) => (is ? storedAs(triedIds.next().value!) : undefined))
}

type Stored = Extract<AddResult, { readonly result: 'stored' }>

function storedAs(text: string): Stored | undefined {
  if (text === '') return undefined
  const [id, token] = text.split(':') as [string, string?]
  return { result: 'stored', id, ...(token !== undefined && { claim: { id, token: Number(token) } }) }
}

interface StoredRow extends LeaseRow {
  readonly stored_ids: string
}

const PARAMETERS = [...COLUMN_TYPES, 'text']
