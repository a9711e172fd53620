import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type express5 from 'express'
import { fastifyReceiver, type FastifyReceiverOptions } from '../../src/fastify.js'
import { parseServerOptions, startReceiverServer } from '../../src/server/server.js'
import type { Receiver } from '../../src/index.js'

interface Listening {
  readonly port: number
  close(): Promise<void>
}

/**
 * What a receiver can live in. One suite runs in all of them. Frameworks are loaded only where they are used, as each has a hundred
 * modules and most test files need none.
 */
export const HOSTS = {
  'Express 5': async (receiver) => listen(mountedIn((await import('express')).default, receiver)),
  'Express 4': async (receiver) => listen(mountedIn((await import('express4')).default, receiver)),
  'Fastify 5': async (receiver) => inFastify((await import('fastify')).default(), receiver),
  'Fastify 4': async (receiver) => inFastify((await import('fastify4')).default(), receiver),
  'http.createServer': (receiver) => listen(receiver.requestListener()),
  'the standalone server': async (receiver, bodyTimeoutMs) => {
    const { address, close } = await startReceiverServer(
      receiver,
      bodyTimeoutMs,
      parseServerOptions({ port: 0 }),
    )
    return { port: address.port, close }
  },
} as const satisfies Record<string, (receiver: Receiver<object>, bodyTimeoutMs: number) => Promise<Listening>>

export type HostName = keyof typeof HOSTS

export const HOST_NAMES = Object.keys(HOSTS) as HostName[]

const closers: (() => Promise<void>)[] = []
afterEach(() => Promise.all(closers.splice(0).map((close) => close())))

/** A server closes after 25 ms in which nothing has arrived. To close all of them together takes no longer. */
const standaloneServers: Listening[] = []
afterAll(() => Promise.all(standaloneServers.map(({ close }) => close())))

/** Has a receiver listen on a port of its own until the test is over. The standalone server then refuses callbacks. */
export async function host(receiver: Receiver<any>, name: HostName, bodyTimeoutMs = 10_000): Promise<number> {
  const listening = await HOSTS[name](receiver, bodyTimeoutMs)
  if (name === 'the standalone server') {
    standaloneServers.push(listening)
    closers.push(() => receiver.stop())
  } else {
    closers.push(listening.close)
  }
  return listening.port
}

/** Has an application listen on a port of its own until the test is over. */
export async function serve(
  app: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<number> {
  const listening = await listen(app)
  closers.push(listening.close)
  return listening.port
}

function mountedIn(express: typeof express5, receiver: Receiver<object>): RequestListener {
  const app = express()
  app.use(receiver.middleware())
  return app as RequestListener
}

/** What version 4 and 5 have in common. */
interface FastifyApp {
  readonly server: Server
  register(plugin: typeof fastifyReceiver, options: FastifyReceiverOptions): PromiseLike<unknown>
  listen(options: { readonly host: string; readonly port: number }): Promise<string>
  close(): Promise<unknown>
}

async function inFastify(app: FastifyApp, receiver: Receiver<object>): Promise<Listening> {
  await app.register(fastifyReceiver, { receiver, path: '/*' })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    port: Number(new URL(origin).port),
    async close() {
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

async function listen(
  listener: RequestListener | ReturnType<Receiver['requestListener']>,
): Promise<Listening> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
