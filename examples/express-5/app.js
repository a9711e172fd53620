import express from 'express'
import { isBooked } from './bookings.js'
import { receiver } from './callbacks.js'
import { log } from './log.js'

export const app = express()
app.disable('x-powered-by')

// Ahead of express.json(): the signature is over the bytes as they arrived, and a parser would have consumed them.
app.post('/hooks/transfers', receiver.middleware())

app.use(express.json())

app.post('/customers', (req, res) => {
  res.status(201).json({ name: req.body?.name })
})

app.get('/transfers/:id', (req, res) => {
  res.json({ id: req.params.id, booked: isBooked(req.params.id) })
})

app.get('/readyz', (_req, res) => {
  res.sendStatus(receiver.ready ? 200 : 503)
})

app.use((error, _req, res, next) => {
  log.error({ err: error }, 'a request failed')
  if (res.headersSent) return next(error)
  res.status(error.status ?? 500).json({ title: error.expose ? error.message : 'Internal Server Error' })
})
