'use strict'
const express = require('express')
const { createReceiver } = require('countersign')
const { bookTransfer, isBooked } = require('./bookings.js')

const receiver = createReceiver({
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: process.env.CALLBACK_URL,
      secret: process.env.CALLBACK_SECRET,
    },
  ],
  logger: console,
})

// Before the answer: 200 once this has finished, 500 if it throws, and then the callback may come again.
receiver.on('transfers.book-completed', async (event, { signal }) => {
  await bookTransfer(event.payload.Id, signal)
  console.log(`transfer ${event.payload.Id} booked`)
})

const app = express()
app.disable('x-powered-by')

// Where express.json() has to be first, it keeps the bytes: the signature is over them, not over what they parse to.
// Its limit is then the one that counts. Where it need not be first, mount the receiver ahead of it instead.
app.use(
  express.json({
    limit: '1mb',
    verify: (req, _res, bytes) => {
      req.rawBody = bytes
    },
  }),
)
app.post('/hooks/transfers', receiver.middleware())

app.post('/customers', (req, res) => {
  res.status(201).json({ name: req.body.name })
})

app.get('/transfers/:id', (req, res) => {
  res.json({ id: req.params.id, booked: isBooked(req.params.id) })
})

app.use((error, _req, res, next) => {
  console.error(error)
  if (res.headersSent) return next(error)
  res.status(error.status || 500).json({ title: error.expose ? error.message : 'Internal Server Error' })
})

async function main() {
  await receiver.start()
  const server = app.listen(Number(process.env.PORT || 3000), process.env.HOST || '127.0.0.1', () => {
    console.log(`listening on port ${server.address().port}`)
  })

  const stop = async () => {
    await receiver.stop({ server })
    console.log('stopped')
  }
  // Once: the same signal again ends the process immediately.
  process.once('SIGTERM', () => void stop())
  process.once('SIGINT', () => void stop())
}

void main()
