'use strict'
// Stands in for your database. A handler may run more than once for the same callback, so what it does has to come to
// the same when it is done again.
const booked = new Set()

/** A real one would hand the signal to its query: it is aborted when the handler's time is up. */
async function bookTransfer(id, signal) {
  signal.throwIfAborted()
  if (typeof id !== 'string') throw new TypeError('a transfer without an Id')
  booked.add(id)
}

function isBooked(id) {
  return booked.has(id)
}

module.exports = { bookTransfer, isBooked }
