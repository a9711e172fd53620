import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { hostOption, listen } from '../base/listen.js'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, durationOption, integerOption } from '../base/option-checks.js'
import type { Receiver } from '../receiver/receiver.js'
import { arrivedRequest } from '../http/arrived-request.js'
import { isChunked } from '../http/callback-headers.js'
import { stopServer } from '../http/stop-server.js'
import { silentLogger, type Logger } from '../logging/logger.js'
import { Connections } from './connections.js'
import { healthChecks } from './health-checks.js'
import type { ServerResponse } from 'node:http'
import { outcome } from '../callback/outcomes.js'
import { answeredEvent, answeredNow } from '../events/publish-answer.js'
import { respond } from '../http/respond.js'

export interface ReceiverServerOptions {
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** The port to listen on; 0 takes a free one. From 0 to 65,535. @default 3000 */
  readonly port?: number | undefined
  /** How long a sender may take for the headers of a request, and to read an answer, in milliseconds. @default 10_000 */
  readonly headersTimeoutMs?: number | undefined
  /**
   * How long an idle connection is kept, in milliseconds. It must be longer than in the proxy in front. Otherwise
   * the proxy may send a callback on a connection that is just being closed. @default 65_000
   */
  readonly keepAliveTimeoutMs?: number | undefined
  /**
   * Connections at the same time. Above it a connection is closed whose sender reads no answer, or the one that has been
   * idle longest, or that of the slowest sender. It also limits the pipelined requests of all connections. @default 1_000
   */
  readonly maxConnections?: number | undefined
  /**
   * How long callbacks are still accepted after a stop has made `/readyz` answer 503, in milliseconds. It must be
   * longer than the load balancer takes to notice. 0 does not wait. @default 0
   */
  readonly shutdownDelayMs?: number | undefined
}

export interface ReceiverServer {
  readonly address: AddressInfo
  /**
   * Makes `/readyz` answer 503, accepts callbacks for another `shutdownDelayMs`, answers the requests that have
   * arrived, waits for running handlers, and closes every connection. Safe to call twice.
   */
  close(options?: { readonly shutdownDelayMs?: number | undefined }): Promise<void>
}

const OWNER = 'serve'

export const SERVER_OPTIONS = [
  'host',
  'port',
  'headersTimeoutMs',
  'keepAliveTimeoutMs',
  'maxConnections',
  'shutdownDelayMs',
] as const satisfies readonly (keyof ReceiverServerOptions)[]
void (true satisfies HasAll<keyof ReceiverServerOptions, typeof SERVER_OPTIONS>)

/** `ReceiverServerOptions`, checked and with defaults. */
export type ServerSettings = ReturnType<typeof parseServerOptions>

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseServerOptions(options: ReceiverServerOptions = {}) {
  checkKnownOptions(OWNER, options, SERVER_OPTIONS)
  return {
    host: hostOption(OWNER, 'host', options.host),
    port: integerOption(OWNER, 'port', options.port, { fallback: 3000, min: 0, max: 65_535 }),
    headersTimeoutMs: durationOption(OWNER, 'headersTimeoutMs', options.headersTimeoutMs, 10_000),
    keepAliveTimeoutMs: durationOption(OWNER, 'keepAliveTimeoutMs', options.keepAliveTimeoutMs, 65_000),
    maxConnections: integerOption(OWNER, 'maxConnections', options.maxConnections, {
      fallback: 1_000,
      min: 1,
    }),
    shutdownDelayMs: integerOption(OWNER, 'shutdownDelayMs', options.shutdownDelayMs, {
      fallback: 0,
      min: 0,
      max: 2 ** 31 - 1,
    }),
  }
}

type ServedReceiver = Pick<Receiver, 'ready' | 'requestListener' | 'start' | 'stop'>

/**
 * Starts the receiver, and a server for it that also answers health checks.
 * @throws CountersignError ERR_LISTEN_FAILED; or the error of the inbox if it cannot be opened
 */
export async function startReceiverServer(
  receiver: ServedReceiver,
  bodyTimeoutMs: number,
  settings: ServerSettings,
  logger: Logger = silentLogger,
): Promise<ReceiverServer> {
  const { host, port, headersTimeoutMs, keepAliveTimeoutMs, maxConnections, shutdownDelayMs } = settings
  const limits = { max: maxConnections, readTimeoutMs: headersTimeoutMs }
  const connections = new Connections(limits, {
    headersTimeout: headersTimeoutMs,
    // The receiver's own limit on bodies answers first. This limit is for requests that are not callbacks.
    requestTimeout: headersTimeoutMs + bodyTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    // How often Node looks for slow clients; its default is 30 seconds.
    connectionsCheckingInterval: 500,
  })
  const { server } = connections
  // A sender that has closed its side of the connection may still read the answer (RFC 9112, section 9.6). By default Node
  // closes the other side before a callback that is stored can be answered. The limits on handlers, stores and inboxes bound
  // how long such a connection is open.
  Object.assign(server, { httpAllowHalfOpen: true })
  let isStopping = false
  let held: Promise<void> | undefined
  const app = healthChecks(() => receiver.ready && !isStopping, receiver.requestListener())
  const listener = receiver.requestListener(app, { exclusive: true })
  server.on('request', (request, response) => {
    // Node would keep each chunk of an unread chunked body as a separate Buffer.
    if (held && !isChunked(request)) void held.then(() => listener(request, response))
    else listener(request, response)
  })
  server.on('checkContinue', (request, response) => {
    const answer = () => listener(request, response, () => response.writeContinue())
    if (held) void held.then(answer)
    else answer()
  })
  const holdRequests = (): (() => void) => {
    let release = () => {}
    held = new Promise<void>((resolve) => (release = resolve)).then(() => (held = undefined))
    return release
  }

  await receiver.start()
  try {
    await listen(server, { host, port }, OWNER)
  } catch (error) {
    // The worker has started. Without a stop, the handlers of its claims would be interrupted when the process
    // ends.
    await receiver.stop().catch(() => undefined)
    throw error
  }
  const stop = async (delayMs: number): Promise<void> => {
    isStopping = true
    if (delayMs > 0) {
      connections.closeAfterAnswers()
      await delay(delayMs)
    }
    await stopServer({
      server,
      connections,
      holdRequests,
      stopReceiver: () => receiver.stop(),
      lastRequestLimitMs: 1_000,
      answerUnanswered: () => answerUnanswered(connections.unanswered, logger),
    })
  }
  let closed: Promise<void> | undefined
  return {
    address: server.address() as AddressInfo,
    close: (closeOptions) => (closed ??= stop(closeOptions?.shutdownDelayMs ?? shutdownDelayMs)),
  }
}

/**
 * Answers the senders of callbacks that are still processed although the receiver has stopped, because a handler ignores its
 * signal or a dependency hangs. They would otherwise see a closed connection, and the log would not name the callbacks.
 */
function answerUnanswered(responses: Iterable<ServerResponse>, logger: Logger): void {
  const result = outcome('ERR_SHUTTING_DOWN')
  for (const response of responses) {
    if (response.headersSent) continue
    const { unverified } = answeredEvent(answeredNow(arrivedRequest(response.req), result))
    respond(response.req, response, result, { lingerMs: 0, awaitsContinue: false })
    const message =
      'the receiver has stopped while this callback is processed, and its sender is answered 503: pass the signal of the ' +
      'handler to what it waits for'
    logger.warn({ code: 'WARN_STOP_TIMEOUT', status: result.status, ...unverified }, message)
  }
}
