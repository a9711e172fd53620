import { createServer, ServerResponse, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

interface Connection {
  readonly socket: Socket
  /** Their answers are in the order of the requests, as HTTP/1.1 demands. */
  readonly unanswered: ServerResponse[]
  /** An answer that was complete at the last checks and that the client had not read, and at how many checks. */
  unread: ServerResponse | undefined
  unreadChecks: number
  /** Whether it had more than `MAX_UNANSWERED` requests at the last check. */
  isCrowded: boolean
}

interface ConnectionLimits {
  /** Connections at the same time. */
  readonly max: number
  /** How long a client may take to read an answer, in milliseconds. */
  readonly readTimeoutMs: number
}

/** A connection has more requests without an answer at one check only. */
const MAX_UNANSWERED = 32
/** A client may write so many requests at once. Each takes some 4 KB, and its headers. */
const MAX_BURST = 256
const CHECK_EVERY_MS = 500

/**
 * A server and its connections, which are at most `max`. Above it the connection is closed whose client has not read an answer for
 * longest, or else the one that has been idle longest. If there is neither, it closes the connection that has waited longest for its
 * client to send the rest of a request or to read an answer, because 1,000 unauthenticated clients may do so slowly. Node's own
 * `server.maxConnections` refuses the new connection instead, so one client with that many idle connections would keep out all
 * others.
 *
 * A client that sends requests and reads no answer would keep its connection without end, and its requests in memory. Its connection
 * is closed after `readTimeoutMs`, or if it has too many requests without an answer.
 *
 * The cost per connection and per request does not depend on their number.
 */
export class Connections {
  readonly server: Server
  // Only connections are in these collections. Requests in a Map or Set would be referenced by its old tables, outlive
  // them and make the garbage collector move them: 10 percent of the processor time of a callback.
  readonly #limits: ConnectionLimits
  readonly #open = new Map<Socket, Connection>()
  /** Connections without an unanswered request; the one that has been idle longest is first. */
  readonly #idle = new Set<Connection>()
  /**
   * Connections with an unanswered request, in the order in which the first one became the first. It may be in progress; this is
   * checked when a connection has to be closed.
   */
  readonly #busy = new Set<Connection>()
  /** Connections whose client did not read an answer at the last check, the longest first. */
  readonly #unread = new Set<Connection>()
  /** Connections with several unanswered requests, in the order in which they got the second one. */
  readonly #pipelining = new Set<Connection>()
  /** The unanswered requests behind the first one of each connection. */
  #pipelined = 0
  /** The same listener for every response, because a closure for each costs memory while the callback is in progress. */
  readonly #onClose: (this: ServerResponse) => void
  #closing = false
  #arrivals = 0

  constructor(limits: ConnectionLimits, options: ServerOptions) {
    this.#limits = limits
    const begun = (response: ServerResponse): void => this.#begun(response)
    const answered = (response: ServerResponse): void => this.#answered(response)
    this.#onClose = function () {
      answered(this)
    }
    // Node itself answers a request without a Host header, or with an unknown Expect, and emits no event for it.
    class CountedResponse extends ServerResponse {
      constructor(...given: ConstructorParameters<typeof ServerResponse>) {
        super(...given)
        begun(this)
      }
    }
    this.server = createServer({ ...options, ServerResponse: CountedResponse })
    this.server.on('connection', (socket) => this.#opened(socket))
    this.server.on('listening', () => {
      const check = setInterval(() => this.#check(), CHECK_EVERY_MS).unref()
      this.server.once('close', () => clearInterval(check))
    })
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
    const connection = { socket, unanswered: [], unread: undefined, unreadChecks: 0, isCrowded: false }
    this.#open.set(socket, connection)
    this.#idle.add(connection)
    socket.once('close', () => this.#forget(connection))
    if (this.#open.size <= this.#limits.max) return
    const [unread] = this.#unread
    const [idle] = this.#idle
    if (unread) this.#close(unread)
    else this.#close(idle !== connection ? idle! : (this.#longestWaiting() ?? connection))
  }

  #begun(response: ServerResponse): void {
    this.#arrivals++
    const connection = this.#open.get(response.req.socket)
    if (!connection) return
    const { unanswered } = connection
    if (this.#closing) {
      const before = unanswered.at(-1)
      // Node closes the connection after the first answer with this header, and drops the answers to later requests.
      if (before?.headersSent === false) before.removeHeader('Connection')
      response.setHeader('Connection', 'close')
    }
    unanswered.push(response)
    response.on('close', this.#onClose)
    if (unanswered.length > 1) return this.#pipelines(connection)
    this.#idle.delete(connection)
    this.#busy.add(connection)
  }

  /** The requests of all connections together are bounded too, because each may have 16 KB of headers. */
  #pipelines(connection: Connection): void {
    this.#pipelined++
    this.#pipelining.add(connection)
    if (connection.unanswered.length > MAX_BURST) return this.#close(connection)
    if (this.#pipelined <= Math.max(this.#limits.max, MAX_BURST)) return
    const [longest] = this.#pipelining
    this.#close(longest!)
  }

  #answered(response: ServerResponse): void {
    const connection = this.#open.get(response.req.socket)
    if (!connection) return
    const { unanswered } = connection
    unanswered.splice(unanswered.indexOf(response), 1)
    if (connection.unread === response) this.#unread.delete(connection)
    this.#busy.delete(connection)
    if (unanswered.length === 0) return void this.#idle.add(connection)
    this.#busy.add(connection)
    this.#pipelined--
    if (unanswered.length === 1) this.#pipelining.delete(connection)
  }

  #check(): void {
    for (const connection of this.#open.values()) {
      if (connection.unanswered.length === 0) connection.isCrowded = false
      else if (this.#isCrowded(connection) || this.#isUnread(connection)) this.#close(connection)
      // It is not there if its request was in progress when a connection had to be closed.
      else this.#busy.add(connection)
    }
  }

  #isCrowded(connection: Connection): boolean {
    const wasCrowded = connection.isCrowded
    connection.isCrowded = connection.unanswered.length > MAX_UNANSWERED
    return wasCrowded && connection.isCrowded
  }

  /** Counts checks and not the time: while the event loop is blocked, no answer leaves. */
  #isUnread(connection: Connection): boolean {
    const first = connection.unanswered[0]!
    // Node removes an answer from the connection when the kernel has taken all of it.
    if (!first.writableEnded) return false
    if (connection.unread === first)
      return ++connection.unreadChecks * CHECK_EVERY_MS >= this.#limits.readTimeoutMs
    connection.unread = first
    connection.unreadChecks = 0
    this.#unread.add(connection)
    return false
  }

  #longestWaiting(): Connection | undefined {
    for (const connection of this.#busy) {
      const first = connection.unanswered[0]!
      if (!first.req.complete || first.writableEnded) return connection
      // It is in progress, and is not looked at again before the next check.
      this.#busy.delete(connection)
    }
    return undefined
  }

  #close(connection: Connection): void {
    this.#forget(connection)
    const { socket } = connection
    ignoreRequests(socket)
    // An ordinary close would leave answers that the client does not read in the memory of the kernel.
    if (socket.writableLength > 0) socket.resetAndDestroy()
    else socket.destroy()
  }

  #forget(connection: Connection): void {
    if (!this.#open.delete(connection.socket)) return
    this.#idle.delete(connection)
    this.#busy.delete(connection)
    this.#unread.delete(connection)
    this.#pipelining.delete(connection)
    this.#pipelined -= Math.max(0, connection.unanswered.length - 1)
  }
}

/** What `parser.onIncoming` returns so that Node parses no further. */
const STOP_PARSING = 2

/**
 * Node parses all that it has read from a socket, also after the socket was destroyed: 64 KB may be 3,600 requests, and those of all
 * connections that are read in one event loop iteration would be in memory together. There is no documented way to end this. Without
 * these properties, only this memory is not bounded.
 */
function ignoreRequests(socket: Socket & { parser?: { onIncoming?: unknown } | null }): void {
  if (socket.parser?.onIncoming) socket.parser.onIncoming = () => STOP_PARSING
}
