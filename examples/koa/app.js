import { createReceiver } from 'countersign'
import Koa from 'koa'

/** The application without what differs between production and a test: what it subscribed, what it does, its log. */
export function createApp({ bookTransfer, ...options }) {
  const receiver = createReceiver(options)
  receiver.on('transfers.book-completed', async ({ payload }) => {
    await bookTransfer(payload.Id)
  })

  const app = new Koa()
  const callbacks = receiver.requestListener()
  // Before body parsers: the signature is over the bytes as they arrived.
  app.use((ctx, next) => {
    if (ctx.path !== '/hooks/transfers') return next()
    // The receiver answers, and not Koa.
    ctx.respond = false
    callbacks(ctx.req, ctx.res)
  })
  app.use((ctx) => {
    ctx.body = 'another page'
  })
  return { app, receiver }
}
