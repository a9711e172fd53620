import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The connections of a server, at most `max`. Beyond it the connection that has been idle longest is closed; if none is idle,
 * the one that has been sending a request longest, as 1,000 unauthenticated senders may send slowly. Node's own
 * `server.maxConnections` refuses the new one instead, so that a sender who keeps that many idle connections open shuts out
 * everybody else. Each connection and each request costs the same, however many there are.
 */
export class Connections {
  readonly #max: number
  readonly #unanswered = new Map<Socket, Map<ServerResponse, IncomingMessage>>()
  /** Without a request to be answered, the one that has been idle longest first. */
  readonly #idle = new Set<Socket>()
  /** The only request of a connection, by its arrival. It may be complete: that is looked at when a connection is closed. */
  readonly #receiving = new Map<Socket, IncomingMessage>()
  #closing = false
  #arrivals = 0

  constructor(server: Server, max: number) {
    this.#max = max
    server.on('connection', (socket) => this.#opened(socket))
  }

  /** Goes up with each new connection and each new request. */
  get arrivals(): number {
    return this.#arrivals
  }

  /** Whether a request waits for its answer. */
  get isAnswering(): boolean {
    return this.#unanswered.size > this.#idle.size
  }

  /** To be called with every request, before anything is done with it. */
  begun(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    this.#arrivals++
    if (this.#closing) response.setHeader('Connection', 'close')
    const unanswered = this.#unanswered.get(socket)
    if (!unanswered) return
    // To close a connection with several requests could cut off one that is being answered.
    if (unanswered.size > 0) this.#receiving.delete(socket)
    else this.#receiving.set(socket, request)
    unanswered.set(response, request)
    this.#idle.delete(socket)
    response.once('close', () => {
      unanswered.delete(response)
      if (unanswered.size > 1 || !this.#unanswered.has(socket)) return
      const [left] = unanswered.values()
      // A sender of pipelined requests may send the last one slowly.
      if (left) return void this.#receiving.set(socket, left)
      this.#receiving.delete(socket)
      this.#idle.add(socket)
    })
  }

  /** From now on each answer says that it is the last one of its connection, those that are being worked on included. */
  closeAfterAnswers(): void {
    this.#closing = true
    for (const responses of this.#unanswered.values()) {
      for (const response of responses.keys())
        if (!response.headersSent) response.setHeader('Connection', 'close')
    }
  }

  #opened(socket: Socket): void {
    this.#arrivals++
    this.#unanswered.set(socket, new Map())
    this.#idle.add(socket)
    socket.once('close', () => this.#forget(socket))
    if (this.#unanswered.size <= this.#max) return
    const [longestIdle] = this.#idle
    const closed = longestIdle !== socket ? longestIdle! : (this.#longestReceiving() ?? socket)
    this.#forget(closed)
    closed.destroy()
  }

  #longestReceiving(): Socket | undefined {
    for (const [socket, { complete }] of this.#receiving) {
      if (!complete) return socket
      // It is being answered, and is not looked at again.
      this.#receiving.delete(socket)
    }
    return undefined
  }

  #forget(socket: Socket): void {
    this.#unanswered.delete(socket)
    this.#idle.delete(socket)
    this.#receiving.delete(socket)
  }
}
