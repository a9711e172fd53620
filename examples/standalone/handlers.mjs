// Handlers may run more than once for the same callback: what they do has to come to the same when it is done again.
// One that throws is tried again, with growing delays.
export default {
  'transfers.book-completed': async (event, { logger }) => {
    logger.info({ transfer: event.payload.Id }, 'transfer booked')
  },
}
