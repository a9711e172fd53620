import { createReceiver, type Handler } from '../../src/index.js'
import {
  parseServerOptions,
  startReceiverServer,
  type ReceiverServerOptions,
} from '../../src/server/server.js'
import { subscription } from '../support/subscription.js'

/** They are closed after the test. */
export const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  jest.useRealTimers()
  await Promise.all(open.splice(0).map((server) => server.close()))
})

/** A standalone server with a receiver. */
export async function start(
  options: ReceiverServerOptions = {},
  { bodyTimeoutMs = 10_000, handler = () => {} }: { bodyTimeoutMs?: number; handler?: Handler } = {},
) {
  const receiver = createReceiver<object>({
    subscriptions: [subscription],
    bodyTimeoutMs,
    logger: false,
  }).onAny(handler)
  const server = await startReceiverServer(
    receiver,
    bodyTimeoutMs,
    parseServerOptions({ port: 0, ...options }),
  )
  open.push(server)
  return { receiver, server, port: server.address.port }
}

export const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
