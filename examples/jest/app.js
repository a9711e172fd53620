'use strict'
const express = require('express')
const { createReceiver } = require('countersign')

/** The application without what differs between production and a test: what it subscribed, its database, its log. */
function createApp({ subscriptions, bookings, logger }) {
  const receiver = createReceiver({ subscriptions, logger })

  receiver.on('transfers.book-completed', async ({ payload, idempotencyKey }) => {
    await bookings.add({ transfer: payload.Id, idempotencyKey })
  })

  const app = express()
  app.disable('x-powered-by')
  app.post('/hooks/transfers', receiver.middleware()) // ahead of express.json()
  app.use(express.json())
  return { app, receiver }
}

module.exports = { createApp }
