import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CountersignError } from '../errors.js'
import { checkKnownOptions, durationOption, integerOption } from '../option-checks.js'
import type { Receiver } from '../receiver.js'
import { nextTurn } from './next-turn.js'

export interface ReceiverServerOptions {
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0 takes any free one. @default 3000 */
  readonly port?: number | undefined
  /** How long a sender may take for the head of a request, in milliseconds. @default 10_000 */
  readonly headersTimeoutMs?: number | undefined
  /**
   * How long an idle connection is kept, in milliseconds: longer than the proxy in front keeps it, or the proxy will send
   * a callback into a connection that is just being closed. @default 65_000
   */
  readonly keepAliveTimeoutMs?: number | undefined
  /** Connections at a time; more are closed at once. @default 1_000 */
  readonly maxConnections?: number | undefined
}

export interface ReceiverServer {
  readonly address: AddressInfo
  /** Takes nothing new in, lets what runs finish, and closes every connection. Safe to call twice. */
  close(): Promise<void>
}

const OWNER = 'serve'

export function parseServerOptions(options: ReceiverServerOptions) {
  checkKnownOptions(OWNER, options, [
    'host',
    'port',
    'headersTimeoutMs',
    'keepAliveTimeoutMs',
    'maxConnections',
  ])
  return {
    host: options.host ?? '127.0.0.1',
    port: integerOption(OWNER, 'port', options.port, { fallback: 3000, min: 0, max: 65_535 }),
    headersTimeoutMs: durationOption(OWNER, 'headersTimeoutMs', options.headersTimeoutMs, 10_000),
    keepAliveTimeoutMs: durationOption(OWNER, 'keepAliveTimeoutMs', options.keepAliveTimeoutMs, 65_000),
    maxConnections: integerOption(OWNER, 'maxConnections', options.maxConnections, {
      fallback: 1_000,
      min: 1,
    }),
  }
}

type ServedReceiver = Pick<Receiver, 'ready' | 'middleware' | 'requestListener' | 'start' | 'stop'>

/**
 * A server of its own for a receiver: callbacks on `node:http`, the health checks behind them on Express.
 * @throws CountersignError ERR_LISTEN_FAILED, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function startReceiverServer(
  receiver: ServedReceiver,
  bodyTimeoutMs: number,
  options: ReceiverServerOptions = {},
): Promise<ReceiverServer> {
  const { host, port, headersTimeoutMs, keepAliveTimeoutMs, maxConnections } = parseServerOptions(options)
  // Only now, as Express takes longer to load than all else, and commands that need no server need not have it installed.
  const { healthApp } = await import('./health-app.js')
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    // The receiver's own limit on bodies answers first; this one is for what is not a callback.
    requestTimeout: headersTimeoutMs + bodyTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    // Node looks for slow clients only this often, by default every 30 seconds.
    connectionsCheckingInterval: 500,
  })
  server.maxConnections = maxConnections
  const listener = receiver.requestListener(healthApp(receiver) as RequestListener)
  // The turn may begin before the body is read, as nobody else on this server waits for its first bytes.
  server.on('request', (request, response) => void nextTurn().then(() => listener(request, response)))
  server.on('checkContinue', (request, response) =>
    listener(request, response, () => response.writeContinue()),
  )

  await receiver.start()
  await listen(server, host, port)
  let closed: Promise<void> | undefined
  return {
    address: server.address() as AddressInfo,
    close: () => (closed ??= close(server, receiver)),
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const cause = error.code === 'EADDRINUSE' ? 'another program listens there' : error.message
      const message = `serve: cannot listen on ${host} port ${port}: ${cause}. Choose another host or port.`
      reject(new CountersignError('ERR_LISTEN_FAILED', message, { cause: error }))
    })
    server.listen(port, host, resolve)
  })
}

async function close(server: Server, receiver: ServedReceiver): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // A keep-alive connection becomes idle only after its answer has gone out, so once is not enough.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  server.closeIdleConnections()
  await receiver.stop()
  const timer = setTimeout(() => server.closeAllConnections(), 1_000)
  await closed
  clearInterval(sweep)
  clearTimeout(timer)
}
