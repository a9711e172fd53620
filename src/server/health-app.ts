import express, { type Express } from 'express'
import type { Middleware } from '../http/middleware.js'

/**
 * What a standalone receiver serves beside callbacks: whether the process lives, and whether it takes callbacks in. All
 * else goes to the receiver, which answers 405.
 */
export function healthApp(receiver: { readonly ready: boolean; middleware(): Middleware }): Express {
  const app = express()
  app.disable('x-powered-by')
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }))
  app.get('/readyz', (_request, response) => {
    const { ready } = receiver
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' })
  })
  app.use(receiver.middleware())
  return app
}
