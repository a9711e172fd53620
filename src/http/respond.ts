import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Outcome, OutcomeCode } from '../callback/outcomes.js'
import { answerTo } from './answer.js'

/** After these the rest of the body is not wanted, or will not come. */
const CLOSES: ReadonlySet<OutcomeCode> = new Set([
  'ERR_BODY_TOO_LARGE',
  'ERR_BODY_TIMEOUT',
  'ERR_BODY_MEMORY_FULL',
  'ERR_SHUTTING_DOWN',
])

/**
 * What is thrown away is parsed all the same, and each chunk costs the same however small it is. No client that waits for
 * its answer sends so many chunks that are so small.
 */
const MANY_PIECES = 10_000
const SMALL_PIECE_BYTES = 64

interface AnswerOptions {
  /** How long a sender that is still sending is listened to, in milliseconds. */
  readonly lingerMs: number
  /** The sender waits for `100 Continue` and has sent nothing of its body. */
  readonly awaitsContinue: boolean
}

/**
 * The answer to a callback. Written on `node:http` alone: Express's own `send` costs more than everything else that is
 * done for a callback.
 */
export function respond(
  request: IncomingMessage,
  response: ServerResponse,
  outcome: Pick<Outcome, 'code' | 'status'>,
  { lingerMs, awaitsContinue }: AnswerOptions,
): void {
  if (response.headersSent || response.destroyed) return
  const { code } = outcome
  const { status, headers: answerHeaders, body } = answerTo(outcome)
  const headers: OutgoingHttpHeaders = { 'Content-Length': body.length, ...answerHeaders }
  const isHttp2 = request.httpVersionMajor === 2
  // HTTP/2 forbids the header (RFC 9113, section 8.2.2).
  if (!isHttp2 && (CLOSES.has(code) || awaitsContinue)) headers['Connection'] = 'close'
  response.writeHead(status, headers)
  if (isHttp2) return endStream(request, response as unknown as Http2ServerResponse, body)
  if (request.complete !== false || awaitsContinue || code === 'ERR_BODY_TIMEOUT') response.end(body)
  else endAfterRequest(request, response, body, lingerMs)
}

/**
 * Answers a sender that is still sending. To close now would reset the connection under its hands, and many clients then
 * never see the answer; so the answer goes out whole, what still comes is thrown away for a while, and then it ends
 * (RFC 9112, section 9.6).
 */
function endAfterRequest(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  lingerMs: number,
): void {
  response.write(body)
  const timer = setTimeout(() => request.socket.destroy(), lingerMs)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  let bytes = 0
  let pieces = 0
  request.on('data', ({ length }: Buffer | string) => {
    bytes += length
    if (++pieces > MANY_PIECES && bytes < SMALL_PIECE_BYTES * pieces) request.socket.destroy()
  })
  request.once('end', end).once('close', end).resume()
}

/**
 * The same over HTTP/2, where one stream can be closed without the connection: after the answer, a sender that is still
 * sending is told to stop (RFC 9113, section 8.1). Otherwise the stream would stay open, and go on buffering.
 */
function endStream(request: IncomingMessage, response: Http2ServerResponse, body: string): void {
  response.end(body)
  if (request.complete !== false) return
  // Node frees a stream only once what it has buffered was read.
  request.resume()
  response.stream.close()
}
