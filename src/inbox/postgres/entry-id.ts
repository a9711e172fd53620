import type { EntryId } from '../../callback/callback.js'

/** The id if PostgreSQL can have made it: the decimal digits of a positive bigint. */
export function rowId(id: EntryId): string | undefined {
  return /^[1-9]\d{0,18}$/.test(id) && BigInt(id) <= MAX_BIGINT ? id : undefined
}

const MAX_BIGINT = 2n ** 63n - 1n
