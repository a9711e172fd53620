import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Outcome, ProbeOutcome } from '../callback/outcomes.js'
import type { Logger } from '../logging/logger.js'
import { arrivedRequest, type ArrivedRequest } from './arrived-request.js'
import { createBatches } from './batch.js'
import { isChunked } from './callback-headers.js'
import type { Exchange, ProcessCallback } from './process-callback.js'
import type { ReadBodyOptions } from './read-body.js'
import { readRawBody } from './raw-body.js'
import { respond } from './respond.js'
import { UnsentAnswers } from './unsent-answers.js'

/** Answers one request. It never throws: the sender gets an answer, or its connection is closed. */
export type CallbackListener = (
  request: IncomingMessage,
  response: ServerResponse,
  /** Given when the sender waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1). */
  sendContinue?: () => void,
) => void

interface ListenerOptions {
  /** How long the rest of a refused body is read and discarded, in milliseconds. */
  readonly lingerMs: number
  /** Whether no other code reads the requests. A request can then wait for its batch before its body is read. */
  readonly exclusive: boolean
  readonly logger: Logger
}

interface AnswerParts {
  readonly lingerMs: number
  readonly unsentAnswers: UnsentAnswers
}

export function callbackListener(
  processCallback: ProcessCallback,
  { lingerMs, exclusive, logger }: ListenerOptions,
): CallbackListener {
  const parts: AnswerParts = { lingerMs, unsentAnswers: new UnsentAnswers(logger) }
  const joinBatch = createBatches()
  return (request, response, sendContinue) => {
    // A chunked body must be read as it arrives. Otherwise Node keeps each chunk as a separate Buffer, up to ten
    // thousand per read from a socket: gigabytes for a thousand connections.
    const joinsFirst = exclusive && !sendContinue && !isChunked(request)
    // Nobody waits for the end. Returning the promise of `process` would make Node create two more for each callback.
    if (joinsFirst)
      void joinBatch().then(() => void processCallback(new HttpExchange(request, response, parts)))
    else void processCallback(new HttpExchange(request, response, parts, sendContinue), joinBatch)
  }
}

class HttpExchange implements Exchange {
  readonly request: ArrivedRequest
  readonly #incoming: IncomingMessage
  readonly #response: ServerResponse
  readonly #parts: AnswerParts
  /** Until it has been called, the sender waits for it. */
  #sendContinue: (() => void) | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    parts: AnswerParts,
    sendContinue?: () => void,
  ) {
    this.request = arrivedRequest(request)
    this.#incoming = request
    this.#response = response
    this.#parts = parts
    this.#sendContinue = sendContinue
  }

  beforeBody(): void {
    this.#sendContinue?.()
    this.#sendContinue = undefined
  }

  readBody(options: ReadBodyOptions) {
    return readRawBody(this.#incoming, options)
  }

  answer(outcome: Outcome | ProbeOutcome): void {
    const { lingerMs, unsentAnswers } = this.#parts
    if (this.#response.headersSent) return unsentAnswers.otherSent(this.#response, outcome)
    const awaitsContinue = this.#sendContinue !== undefined
    try {
      respond(this.#incoming, this.#response, outcome, { lingerMs, awaitsContinue })
    } catch (error) {
      // Nobody waits for the result of this function: the exception would end the process.
      this.#response.destroy()
      unsentAnswers.failed(error, outcome)
    }
  }
}
