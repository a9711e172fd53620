import { Socket, type ConnectOpts, type SocketConstructorOpts } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { CountersignError, recognise } from '../base/errors.js'
import { checkExchange } from './argument-checks.js'
import { headerValues, MalformedMessage, readBody, readHead, type MessageHead } from './http-message.js'

export interface RawTarget {
  /** @default '127.0.0.1' */
  readonly host?: string | undefined
  readonly port: number
}

/** Options of `sendRawRequest` and `replayRecordedRequest`. */
export interface RawRequestOptions {
  /**
   * How long the whole exchange may take, from connecting to the last byte of the answer, in milliseconds.
   * @default 5_000
   */
  readonly timeoutMs?: number | undefined
  /** Aborts the request; the promise rejects with the signal's reason. @default none */
  readonly signal?: AbortSignal | undefined
}

/** The answer to a raw request. */
export interface RawResponse {
  readonly status: number
  readonly statusText: string
  /** Names in lower case; a repeated header's values are joined with a comma. */
  readonly headers: Record<string, string>
  readonly body: Buffer
}

/** The codes of requests without a usable answer. */
export type RawRequestCode =
  /** The connection was closed before an answer began. */
  | 'ERR_NO_RESPONSE'
  | 'ERR_RESPONSE_TIMEOUT'
  /** The answer is not HTTP/1.1, or is incomplete. */
  | 'ERR_RESPONSE_MALFORMED'
  /** The answer is larger than 1 MiB. */
  | 'ERR_RESPONSE_TOO_LARGE'

/** `sendRawRequest` or `replayRecordedRequest` got no usable answer. */
export class RawRequestError extends CountersignError<RawRequestCode> {
  static {
    recognise(this, 'RawRequestError')
  }

  override readonly name = 'RawRequestError'
}

const MAX_RESPONSE_BYTES = 1_048_576

// Taken before the caller's test fakes timers: `mock.timers` of node:test replaces it in the module.
const nextTick = setImmediate

/**
 * Sends bytes to a server unchanged, which no HTTP client does: recorded requests, malformed requests, bodies in pieces.
 * A list is written piece by piece, each in its own segment if the network allows it. Resolves to the first answer that
 * is not a 1xx, and closes the connection.
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; RawRequestError; or the error of the system (such as
 * ECONNREFUSED) when there is no connection.
 */
export async function sendRawRequest(
  bytes: Uint8Array | readonly Uint8Array[],
  target: RawTarget,
  options: RawRequestOptions = {},
): Promise<RawResponse> {
  checkExchange('sendRawRequest', bytes, target, options)
  const { timeoutMs = 5_000, signal } = options
  const pieces = ArrayBuffer.isView(bytes) ? [bytes] : bytes
  // The answer to a HEAD has no body, whatever its Content-Length (RFC 9112, section 6.3).
  const isHead = Buffer.concat(pieces, 5).toString('latin1') === 'HEAD '
  signal?.throwIfAborted()
  // Not the global setTimeout, which never fires if the caller's test uses fake timers.
  const deadline = AbortSignal.timeout(timeoutMs)
  let receive: (chunk: Buffer) => void = () => {}
  const socket = new PatientSocket((chunk) => receive(chunk))
  let abort = () => {}
  try {
    return await new Promise((resolve, reject) => {
      let connected = false
      let received: Buffer = Buffer.alloc(0)
      let failure: Error | undefined

      const fail = (code: RawRequestCode, message: string) =>
        reject(new RawRequestError(code, message, failure && { cause: failure }))
      const read = (ended: boolean) => {
        try {
          received = skipInterimResponses(received)
          const response = readResponse(received, ended, isHead)
          if (response) resolve(response)
        } catch (error) {
          if (!(error instanceof MalformedMessage)) return reject(error)
          fail('ERR_RESPONSE_MALFORMED', `The answer is not HTTP/1.1: ${error.message}.`)
        }
      }
      const finish = () => {
        if (failure && !connected) return reject(failure)
        read(true)
        if (received.length === 0)
          return fail('ERR_NO_RESPONSE', 'The server closed the connection without an answer.')
        fail(
          'ERR_RESPONSE_MALFORMED',
          `The connection was closed ${received.length} bytes into the answer, before its end.`,
        )
      }
      receive = (chunk) => {
        received = Buffer.concat([received, chunk])
        if (received.length > MAX_RESPONSE_BYTES)
          return fail('ERR_RESPONSE_TOO_LARGE', `The answer is larger than ${MAX_RESPONSE_BYTES} bytes.`)
        read(false)
      }

      deadline.onabort = () =>
        fail(
          'ERR_RESPONSE_TIMEOUT',
          `No complete answer within ${timeoutMs} ms; ${received.length} bytes of one arrived.`,
        )
      abort = () => reject(signal?.reason)
      signal?.addEventListener('abort', abort)

      socket.on('error', (error) => (failure = error))
      socket.on('end', finish)
      socket.on('close', finish)
      socket.setNoDelay(true).connect({ host: target.host ?? '127.0.0.1', port: target.port }, () => {
        connected = true
        void writePieces(socket, pieces)
      })
    })
  } finally {
    deadline.onabort = null
    signal?.removeEventListener('abort', abort)
    socket.destroy()
  }
}

async function writePieces(socket: Socket, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    if (!socket.writable) return
    await new Promise((resolve) => socket.write(piece, resolve))
    // Lets a server in the same process read this piece separately.
    await nextTick()
  }
}

/**
 * If a server answers early and closes the connection, further writes fail (EPIPE, ECONNRESET). Node then destroys the
 * socket and discards the unread answer. Here an error waits for two event loop ticks, with one read from the network
 * between them. It uses `onread`, because a failed stream discards data.
 */
class PatientSocket extends Socket {
  constructor(receive: (chunk: Buffer) => void) {
    const buffer = Buffer.allocUnsafe(65_536)
    const callback = (length: number) => {
      receive(Buffer.from(buffer.subarray(0, length)))
      return true
    }
    const options: SocketConstructorOpts & ConnectOpts = { onread: { buffer, callback } }
    super(options)
  }

  override destroy(error?: Error): this {
    if (!error) return super.destroy()
    void nextTick()
      .then(() => nextTick())
      .then(() => super.destroy(error))
    return this
  }
}

function skipInterimResponses(bytes: Buffer): Buffer {
  let head = readHead(bytes)
  while (head && parseStatusLine(head).status < 200) {
    bytes = bytes.subarray(head.end)
    head = readHead(bytes)
  }
  return bytes
}

function readResponse(bytes: Buffer, ended: boolean, isHead: boolean): RawResponse | undefined {
  // A server with another protocol may wait for the client: do not wait for an empty line.
  if (!'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7)))
    throw new MalformedMessage('it does not begin with "HTTP/1."')
  const head = readHead(bytes)
  if (!head) return undefined
  const { status, statusText } = parseStatusLine(head)
  const bodiless = isHead || status === 204 || status === 304
  const read = bodiless ? { body: Buffer.alloc(0) } : readBody(bytes, head, ended ? bytes.length : undefined)
  return read && { status, statusText, headers: joinHeaders(head.rawHeaders), body: read.body }
}

function parseStatusLine({ startLine }: MessageHead): { status: number; statusText: string } {
  const [, status, statusText = ''] = /^HTTP\/1\.[01] ([1-9]\d\d)(?: (.*))?$/.exec(startLine) ?? []
  if (status === undefined) throw new MalformedMessage('it does not begin with a status line')
  return { status: Number(status), statusText }
}

function joinHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
  return Object.fromEntries(names.map((name) => [name, headerValues(rawHeaders, name).join(', ')]))
}
