import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { setImmediate } from 'node:timers'
import type { Outcome, OutcomeCode, ProbeOutcome } from '../callback/outcomes.js'
import { answerTo } from './answer.js'

/** After these outcomes the rest of the body is not needed, or will not arrive. */
const CLOSES: ReadonlySet<OutcomeCode> = new Set([
  'ERR_BODY_TOO_LARGE',
  'ERR_BODY_TIMEOUT',
  'ERR_BODY_MEMORY_FULL',
  'ERR_SHUTTING_DOWN',
])

/**
 * Discarded data is still parsed, and each chunk costs the same, however small it is. No client that waits for its
 * answer sends so many chunks that are so small.
 */
const MANY_PIECES = 10_000
const SMALL_PIECE_BYTES = 64

interface AnswerOptions {
  /** How long the rest of a refused body is read and discarded, in milliseconds. */
  readonly lingerMs: number
  /** The sender waits for `100 Continue` and has sent no byte of the body. */
  readonly awaitsContinue: boolean
}

/**
 * Writes the answer to a callback. It uses `node:http` only, because Express's `send` takes longer than all the
 * other work for a callback.
 */
export function respond(
  request: IncomingMessage,
  response: ServerResponse,
  outcome: Outcome | ProbeOutcome,
  { lingerMs, awaitsContinue }: AnswerOptions,
): void {
  if (response.headersSent || response.destroyed) return
  // The sender has hung up. A response that waits for an earlier one of its connection is not destroyed then.
  if (request.complete === false && request.destroyed) return
  const { code } = outcome
  const answer = answerTo(outcome)
  const { status, headers: answerHeaders } = answer
  const headers: OutgoingHttpHeaders = { 'Content-Length': answer.body.length, ...answerHeaders }
  // Node drops the body of an answer to HEAD, but throws for it with `rejectNonStandardBodyWrites`.
  const body = request.method === 'HEAD' ? '' : answer.body
  // The version of the request does not tell: the head of a request over HTTP/1.1 may say HTTP/2.0.
  const { stream } = response as { stream?: ServerHttp2Stream }
  // HTTP/2 forbids the header (RFC 9113, section 8.2.2).
  if (!stream && (CLOSES.has(code) || awaitsContinue)) headers['Connection'] = 'close'
  response.writeHead(status, headers)
  if (stream) {
    response.end(body)
    return closeStream(request, stream)
  }
  if (request.complete !== false || awaitsContinue || code === 'ERR_BODY_TIMEOUT') response.end(body)
  else endAfterRequest(request, response, body, lingerMs)
}

/**
 * Answers a sender that is still sending. Closing the connection now would reset it, and many clients would never
 * see the answer. Therefore the whole answer is written, further data is discarded for a while, and then the
 * connection is closed (RFC 9112, section 9.6).
 */
function endAfterRequest(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  lingerMs: number,
): void {
  // Node throws if an empty text is written.
  if (body === '') response.flushHeaders()
  else response.write(body)
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
 * The same for HTTP/2, where one stream can be closed without the connection. After the answer, a sender that is
 * still sending is told to stop (RFC 9113, section 8.1). Otherwise the stream would stay open and continue to
 * buffer.
 */
function closeStream(request: IncomingMessage, stream: ServerHttp2Stream): void {
  if (request.complete !== false) return
  // Node frees a stream only after its buffered data has been read.
  request.resume()
  // Not immediately, because Node 26 would drop the answer to a HEAD.
  setImmediate(() => stream.close())
}
