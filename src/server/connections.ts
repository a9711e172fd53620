import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The connections of a server, at most `max`. Above it the connection that has been idle longest is closed. If none
 * is idle, it closes the one that has been sending its request longest, because 1,000 unauthenticated senders may
 * send slowly. Node's own `server.maxConnections` refuses the new connection instead, so one client with that many
 * idle connections would keep out all others. The cost per connection and per request does not depend on their
 * number.
 */
export class Connections {
  readonly #max: number
  readonly #unanswered = new Map<Socket, Map<ServerResponse, IncomingMessage>>()
  /** Connections without an unanswered request; the one that has been idle longest is first. */
  readonly #idle = new Set<Socket>()
  /**
   * Connections with exactly one request, in the order of arrival. The request may be complete; this is checked
   * when a connection has to be closed.
   */
  readonly #receiving = new Map<Socket, IncomingMessage>()
  /** The same listener for every response, because a closure for each costs memory while the callback is in progress. */
  readonly #onClose: (this: ServerResponse) => void
  #closing = false
  #arrivals = 0

  constructor(server: Server, max: number) {
    this.#max = max
    const answered = (response: ServerResponse): void => this.#answered(response)
    this.#onClose = function () {
      answered(this)
    }
    server.on('connection', (socket) => this.#opened(socket))
  }

  /** Increases with each new connection and each new request. */
  get arrivals(): number {
    return this.#arrivals
  }

  /** Whether a request waits for its answer. */
  get isAnswering(): boolean {
    return this.#unanswered.size > this.#idle.size
  }

  /** Call it with every request, before anything else is done with it. */
  begun(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    this.#arrivals++
    if (this.#closing) response.setHeader('Connection', 'close')
    const unanswered = this.#unanswered.get(socket)
    if (!unanswered) return
    // A connection with several requests is not closed, because one of them may be in progress.
    if (unanswered.size > 0) this.#receiving.delete(socket)
    else this.#receiving.set(socket, request)
    unanswered.set(response, request)
    this.#idle.delete(socket)
    response.on('close', this.#onClose)
  }

  /** From now on every answer has `Connection: close`, also the answers to requests in progress. */
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

  #answered(response: ServerResponse): void {
    const { socket } = response.req
    const unanswered = this.#unanswered.get(socket)
    if (!unanswered) return
    unanswered.delete(response)
    if (unanswered.size > 1) return
    const [left] = unanswered.values()
    // A sender of pipelined requests may send the last one slowly.
    if (left) return void this.#receiving.set(socket, left)
    this.#receiving.delete(socket)
    this.#idle.add(socket)
  }

  #longestReceiving(): Socket | undefined {
    for (const [socket, { complete }] of this.#receiving) {
      if (!complete) return socket
      // It is being answered, and is not checked again.
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
