import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface Connection {
  readonly socket: Socket
  /** Their answers are in the order of the requests, as HTTP/1.1 demands. */
  readonly unanswered: ServerResponse[]
}

/**
 * The connections of a server, at most `max`. Above it the connection that has been idle longest is closed. If none
 * is idle, it closes the one that has been sending its request longest, because 1,000 unauthenticated senders may
 * send slowly. Node's own `server.maxConnections` refuses the new connection instead, so one client with that many
 * idle connections would keep out all others. The cost per connection and per request does not depend on their
 * number.
 */
export class Connections {
  // Only connections are in these collections. Requests in a Map or Set would be referenced by its old tables, outlive
  // them and make the garbage collector move them: 10 percent of the processor time of a callback.
  readonly #max: number
  readonly #open = new Map<Socket, Connection>()
  /** Connections without an unanswered request; the one that has been idle longest is first. */
  readonly #idle = new Set<Connection>()
  /**
   * Connections with exactly one request, in the order of arrival. The request may be complete; this is checked
   * when a connection has to be closed.
   */
  readonly #receiving = new Set<Connection>()
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
    return this.#open.size > this.#idle.size
  }

  /** The answers of each connection are in the order of its requests. */
  get unanswered(): ServerResponse[] {
    return [...this.#open.values()].flatMap(({ unanswered }) => unanswered)
  }

  /** Call it with every request, before anything else is done with it. */
  begun(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    this.#arrivals++
    const connection = this.#open.get(socket)
    if (!connection) return
    if (this.#closing) {
      const before = connection.unanswered.at(-1)
      // Node closes the connection after the first answer with this header, and drops the answers to later requests.
      if (before?.headersSent === false) before.removeHeader('Connection')
      response.setHeader('Connection', 'close')
    }
    connection.unanswered.push(response)
    // A connection with several requests is not closed, because one of them may be in progress.
    if (connection.unanswered.length > 1) this.#receiving.delete(connection)
    else this.#receiving.add(connection)
    this.#idle.delete(connection)
    response.on('close', this.#onClose)
  }

  /** From now on the last answer of each connection has `Connection: close`, also if its request is in progress. */
  closeAfterAnswers(): void {
    this.#closing = true
    for (const { unanswered } of this.#open.values()) {
      const last = unanswered.at(-1)
      if (last?.headersSent === false) last.setHeader('Connection', 'close')
    }
  }

  #opened(socket: Socket): void {
    this.#arrivals++
    const connection = { socket, unanswered: [] }
    this.#open.set(socket, connection)
    this.#idle.add(connection)
    socket.once('close', () => this.#forget(connection))
    if (this.#open.size <= this.#max) return
    const [longestIdle] = this.#idle
    const closed = longestIdle !== connection ? longestIdle! : (this.#longestReceiving() ?? connection)
    this.#forget(closed)
    closed.socket.destroy()
  }

  #answered(response: ServerResponse): void {
    const connection = this.#open.get(response.req.socket)
    if (!connection) return
    const { unanswered } = connection
    unanswered.splice(unanswered.indexOf(response), 1)
    // A sender of pipelined requests may send the last one slowly.
    if (unanswered.length === 1) this.#receiving.add(connection)
    if (unanswered.length > 0) return
    this.#receiving.delete(connection)
    this.#idle.add(connection)
  }

  #longestReceiving(): Connection | undefined {
    for (const connection of this.#receiving) {
      if (!connection.unanswered[0]!.req.complete) return connection
      // It is being answered, and is not checked again.
      this.#receiving.delete(connection)
    }
    return undefined
  }

  #forget(connection: Connection): void {
    this.#open.delete(connection.socket)
    this.#idle.delete(connection)
    this.#receiving.delete(connection)
  }
}
