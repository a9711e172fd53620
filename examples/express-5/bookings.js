// Stands in for your database. A handler may run more than once for the same callback, so what it does has to come to
// the same when it is done again.
const booked = new Set()

export async function bookTransfer(id) {
  booked.add(id)
}

export function isBooked(id) {
  return booked.has(id)
}
