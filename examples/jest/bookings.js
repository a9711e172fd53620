'use strict'

/** Stands in for a table of your database, in which the idempotency key is unique: the same booking again changes nothing. */
function createBookings() {
  const rows = new Map()
  return {
    async add(booking) {
      rows.set(booking.idempotencyKey, booking)
    },
  }
}

module.exports = { createBookings }
