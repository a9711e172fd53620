import { request as httpRequest, type IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { upgradeAsResponse } from '../base/upgrade-response.js'
import { RawRequestError, sendRawRequest, type RawTarget } from '../testing/raw-request.js'
import type { SignedCallback } from '../testing/signed-callback.js'
import type { PlannedRequest } from './planned-request.js'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

interface SendOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

const CHUNK_BYTES = 65_536
const TRICKLED_PIECES = 20
const MAX_ANSWER_BYTES = 1_048_576

/**
 * Sends one request. Resolves to undefined if it closed the connection itself.
 * @throws RawRequestError; the system's error (such as ECONNREFUSED); the reason of the signal
 */
export async function send(
  { callback, wire }: PlannedRequest,
  target: RawTarget,
  options: SendOptions,
): Promise<Answer | undefined> {
  switch (wire.how) {
    case 'whole':
      return await sendRawRequest(callback.toHttp(), target, options)
    case 'chunked': {
      const chunked = Array.from(
        { length: Math.floor(callback.body.length / CHUNK_BYTES) },
        () => CHUNK_BYTES,
      )
      return await sendRawRequest(callback.toHttp({ chunked }), target, options)
    }
    case 'trickled':
      return await limited(options, wire.overMs, (signal) => trickle(callback, wire.overMs, target, signal))
    case 'cut-before-answer':
      return await limited(options, 0, (signal) => hangUpAfter(callback.toHttp(), target, signal))
    case 'cut-in-body': {
      const bytes = callback.toHttp()
      const half = bytes.subarray(0, bytes.length - Math.ceil(callback.body.length / 2))
      return await limited(options, 0, (signal) => hangUpAfter(half, target, signal))
    }
  }
}

async function limited<Result>(
  { timeoutMs, signal }: SendOptions,
  extraMs: number,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const limitMs = timeoutMs + extraMs
  const deadline = AbortSignal.timeout(limitMs)
  try {
    const ending = AbortSignal.any([signal, deadline])
    const answer = await run(ending)
    // Without a Content-Length, node:http takes the end of an aborted request for the end of the answer.
    ending.throwIfAborted()
    return answer
  } catch (error) {
    signal.throwIfAborted()
    if (!deadline.aborted) throw error
    throw new RawRequestError('ERR_RESPONSE_TIMEOUT', `No complete answer within ${limitMs} ms.`)
  }
}

/** Sends the body in pieces, the last byte `overMs` after the headers, or until it is answered. */
async function trickle(
  { url, path, headers, body }: SignedCallback,
  overMs: number,
  { host, port }: RawTarget,
  signal: AbortSignal,
): Promise<Answer> {
  const request = httpRequest({
    host,
    port,
    path,
    method: 'POST',
    headers: { Host: new URL(url).host, 'Content-Length': body.length, ...headers },
    agent: false,
    signal,
  })
  const answers: IncomingMessage[] = []
  const answered = new Promise<void>((resolve, reject) => {
    upgradeAsResponse(request)
      .on('error', reject)
      .on('response', (response: IncomingMessage) => {
        answers.push(response)
        resolve()
      })
  })
  // A failure while pieces are written is reported below.
  answered.catch(() => {})
  try {
    // The receiver measures from the headers on. Each piece has a due time of its own, so that delays do not add
    // up.
    request.flushHeaders()
    const startedAt = performance.now()
    const pieces = Math.min(TRICKLED_PIECES, body.length)
    for (let sent = 0; sent < pieces && answers.length === 0 && !request.destroyed; sent++) {
      const dueAt = startedAt + (overMs * (sent + 1)) / pieces
      await Promise.race([answered, untilTime(dueAt, signal)])
      if (answers.length > 0) break
      const [from, to] = [sent, sent + 1].map((count) => Math.floor((body.length * count) / pieces))
      request.write(body.subarray(from, to))
    }
    if (answers.length === 0) request.end()
    await answered
    return await read(answers[0]!)
  } finally {
    request.destroy()
  }
}

/** Timers may fire up to a millisecond early. */
async function untilTime(dueAt: number, signal: AbortSignal): Promise<void> {
  for (let left = dueAt - performance.now(); left > 0; left = dueAt - performance.now()) {
    await delay(Math.ceil(left), undefined, { signal })
  }
}

async function read(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) {
      throw new RawRequestError(
        'ERR_RESPONSE_TOO_LARGE',
        `The answer is larger than ${MAX_ANSWER_BYTES} bytes.`,
      )
    }
    chunks.push(chunk)
  }
  const headers = Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')])
  return { status: response.statusCode!, headers: Object.fromEntries(headers), body: Buffer.concat(chunks) }
}

/** Writes the bytes and closes the connection regularly, so that the bytes arrive. */
function hangUpAfter(bytes: Buffer, { host, port }: RawTarget, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve, reject) => {
    const socket = new Socket({ signal })
    socket.on('error', reject).on('close', () => resolve(undefined))
    socket.setNoDelay(true).connect({ host: host!, port }, () => socket.write(bytes, () => socket.destroy()))
  })
}
