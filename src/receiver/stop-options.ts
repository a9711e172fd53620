import type { Server, ServerResponse } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { checkKnownOptions, integerOption, objectOption } from '../base/option-checks.js'
import { stopServer } from '../http/stop-server.js'

export interface StopOptions {
  /**
   * The server of `node:http` or `node:https` that the receiver is mounted in. It is closed at a moment at which no sender loses a
   * request. Once the handlers have finished, its other requests have 5 seconds to end. @default none
   */
  readonly server?: Server | HttpsServer | undefined
  /**
   * How long callbacks are still accepted while `ready` is false, in milliseconds: longer than the load balancer takes to notice.
   * From 0 to 2,147,483,647. @default 0
   */
  readonly delayMs?: number | undefined
}

const OWNER = 'receiver.stop'

/**
 * Waits for `delayMs`, closes the server, and stops the receiver. Without options the receiver is stopped immediately.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function stopWith(options: StopOptions, stopReceiver: () => Promise<void>): Promise<void> {
  checkKnownOptions(OWNER, options, ['server', 'delayMs'])
  const { server } = options
  // Those of node:http2 lack them.
  if (server !== undefined) objectOption(OWNER, 'server', server, ['close', 'closeIdleConnections'])
  const limits = { fallback: 0, min: 0, max: 2 ** 31 - 1 }
  const delayMs = integerOption(OWNER, 'delayMs', options.delayMs, limits)
  return server === undefined && delayMs === 0 ? stopReceiver() : stop()

  async function stop(): Promise<void> {
    const connections = server && new ObservedConnections(server)
    connections?.closeAfterAnswers()
    if (delayMs > 0) await delay(delayMs)
    if (!connections) return stopReceiver()
    try {
      await stopServer({ server, connections, stopReceiver, lastRequestLimitMs: 5_000 })
    } finally {
      connections.end()
    }
  }
}

/** What arrives at the server of an application from now on. */
class ObservedConnections {
  arrivals = 0
  readonly #server: Server
  readonly #last = new WeakMap<Socket, ServerResponse>()
  #unanswered = 0

  constructor(server: Server) {
    this.#server = server
  }

  get isAnswering(): boolean {
    return this.#unanswered > 0
  }

  closeAfterAnswers(): void {
    if (this.#server.listeners('connection').includes(this.#onConnection)) return
    this.#server.on('connection', this.#onConnection)
    // Before the listener of the application, which may answer immediately.
    this.#server.prependListener('request', this.#onRequest)
  }

  end(): void {
    this.#server.off('connection', this.#onConnection).off('request', this.#onRequest)
  }

  readonly #onConnection = (): void => void this.arrivals++

  readonly #onRequest = ({ socket }: { socket: Socket }, response: ServerResponse): void => {
    this.arrivals++
    this.#unanswered++
    response.once('close', () => this.#unanswered--)
    const before = this.#last.get(socket)
    this.#last.set(socket, response)
    // Node closes the connection after the first answer with this header, and drops the answers to later requests.
    if (before?.headersSent === false) before.removeHeader('Connection')
    response.setHeader('Connection', 'close')
  }
}
