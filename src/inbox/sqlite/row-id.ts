import type { EntryId } from '../../callback/callback.js'

/** The row of an entry; undefined if this inbox cannot have made the id. */
export function rowIdOf(id: EntryId): number | undefined {
  const rowId = /^[1-9]\d{0,15}$/.test(id) ? Number(id) : undefined
  return Number.isSafeInteger(rowId) ? rowId : undefined
}

export function entryIdOf(rowId: number): EntryId {
  return String(rowId)
}
