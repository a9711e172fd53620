import { request as httpRequest, type ClientRequest, type IncomingHttpHeaders } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { performance } from 'node:perf_hooks'
import type { Readable } from 'node:stream'
import { upgradeAsResponse } from '../../base/upgrade-response.js'
import type { Probe } from './probe.js'

/** One probe, and what was answered. */
export interface Exchange {
  readonly probe: Probe
  /** Undefined if there was no answer. */
  readonly answer?: { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }
  /** The system's code, if there was no answer. */
  readonly error?: string
  /** Whether `100 Continue` came. Undefined if it was not asked for. */
  readonly continued?: boolean
  readonly startedAtMs: number
  /** Includes the pause. */
  readonly durationMs: number
  /** How long the body was to be interrupted. */
  readonly pauseMs: number
}

export interface SendOptions {
  readonly timeoutMs: number
  readonly chunked?: boolean
  /** Whether to wait for `100 Continue`, for at most `CONTINUE_WAIT_MS`. */
  readonly expectContinue?: boolean
  /** How long to wait between the halves of the body. @default 0 */
  readonly pauseMs?: number
}

/** RFC 9110, section 10.1.1: a client must not wait for an indefinite period. */
const CONTINUE_WAIT_MS = 3_000

/** An answer of another program may be of any length. */
const MAX_ANSWER_CHARACTERS = 262_144

type Result = Pick<Exchange, 'answer' | 'error'>

/** Sends a probe over HTTP/1.1, on a connection of its own. Never rejects. */
export async function sendHttp1(url: URL, probe: Probe, options: SendOptions): Promise<Exchange> {
  const { timeoutMs, chunked = false, expectContinue = false, pauseMs = 0 } = options
  const framing = chunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': probe.body.length }
  const timing = startTimer()
  let continued = false
  const result = await new Promise<Result>((resolve) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
      ...targetOf(url),
      method: 'POST',
      headers: { ...probe.headers, ...framing, ...(expectContinue && { Expect: '100-continue' }) },
      agent: false,
      // The certificate is a finding of its own. The receiver proves itself with the signature of its report.
      rejectUnauthorized: false,
      signal,
    })
    upgradeAsResponse(request).on('response', (response) => {
      const { statusCode: status = 0, headers } = response
      void textOf(response).then((text) => {
        resolve({ answer: { status, headers, text } })
        // The server may have answered before it had the whole body, and needs no more of it.
        request.destroy()
      })
    })
    // After a response the error is that of the body, which the server no longer wanted.
    request.on('error', (error) => resolve({ error: signal.aborted ? 'ETIMEDOUT' : codeOf(error) }))
    if (!expectContinue) return sendBody(request, probe.body, pauseMs)
    const timer = setTimeout(() => request.end(probe.body), CONTINUE_WAIT_MS)
    request.on('close', () => clearTimeout(timer))
    request.on('continue', () => {
      continued = true
      clearTimeout(timer)
      request.end(probe.body)
    })
  })
  return { probe, ...result, ...(expectContinue && { continued }), ...timing(), pauseMs }
}

function sendBody(request: ClientRequest, body: Buffer, pauseMs: number): void {
  if (pauseMs === 0) return void request.end(body)
  const half = Math.floor(body.length / 2)
  request.write(body.subarray(0, half))
  const timer = setTimeout(() => request.end(body.subarray(half)), pauseMs)
  request.on('close', () => clearTimeout(timer))
}

/** The same over HTTP/2. */
export async function sendHttp2(url: URL, probe: Probe, { timeoutMs }: SendOptions): Promise<Exchange> {
  const timing = startTimer()
  const session = connectHttp2(url.origin, { rejectUnauthorized: false })
  try {
    const result = await new Promise<Result>((resolve) => {
      const fail = (error: Error) => resolve({ error: codeOf(error) })
      session.on('error', fail)
      const stream = session.request({
        ...probe.headers,
        ':method': 'POST',
        ':path': url.pathname + url.search,
        'content-length': probe.body.length,
      })
      // A server that sends one byte at a time would never reach the timeout of the stream.
      AbortSignal.timeout(timeoutMs).addEventListener('abort', () => resolve({ error: 'ETIMEDOUT' }))
      // A stream that is closed or cancelled without an answer emits no error.
      const closed = () => resolve({ error: 'ECONNRESET' })
      stream.on('error', fail).on('close', closed)
      stream.on('response', (headers) => {
        stream.off('close', closed)
        const status = headers[':status'] ?? 0
        void textOf(stream).then((text) => resolve({ answer: { status, headers, text } }))
      })
      stream.end(probe.body)
    })
    return { probe, ...result, ...timing(), pauseMs: 0 }
  } finally {
    session.destroy()
  }
}

function targetOf(url: URL) {
  return {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    path: url.pathname + url.search,
  }
}

function startTimer(): () => Pick<Exchange, 'startedAtMs' | 'durationMs'> {
  const startedAtMs = Date.now()
  const start = performance.now()
  return () => ({ startedAtMs, durationMs: Math.round(performance.now() - start) })
}

/** The text of the answer, as far as the answer arrived. */
async function textOf(stream: Readable): Promise<string> {
  let text = ''
  try {
    for await (const piece of stream.setEncoding('latin1')) {
      text += piece as string
      if (text.length > MAX_ANSWER_CHARACTERS) break
    }
  } catch {
    // The beginning may be enough.
  }
  return text
}

function codeOf(error: Error & { code?: unknown }): string {
  return typeof error.code === 'string' ? error.code : error.name
}
