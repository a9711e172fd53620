/** Stands in for a table of your database, in which the transfer is unique: the same booking again changes nothing. */
const rows = new Set()

export async function bookTransfer(id) {
  rows.add(id)
}

export function isBooked(id) {
  return rows.has(id)
}
