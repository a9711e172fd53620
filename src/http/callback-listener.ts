import type { IncomingMessage, ServerResponse } from 'node:http'
import { createBatches } from './batch.js'
import { isChunked, requestHead } from './callback-headers.js'
import type { ProcessCallback } from './process-callback.js'
import { readRawBody } from './raw-body.js'
import { respond } from './respond.js'

/** Answers one request. It never throws and never rejects: the sender always gets an answer. */
export type CallbackListener = (
  request: IncomingMessage,
  response: ServerResponse,
  /** Given when the sender waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1). */
  sendContinue?: () => void,
) => Promise<void>

interface ListenerOptions {
  /** How long the rest of a refused body is read and discarded, in milliseconds. */
  readonly lingerMs: number
  /** Whether no other code reads the requests. A request can then wait for its batch before its body is read. */
  readonly exclusive: boolean
}

export function callbackListener(
  process: ProcessCallback,
  { lingerMs, exclusive }: ListenerOptions,
): CallbackListener {
  const joinBatch = createBatches()
  return async (request, response, sendContinue) => {
    let awaitsContinue = sendContinue !== undefined
    // A chunked body must be read as it arrives. Otherwise Node keeps each chunk as a separate Buffer, up to ten
    // thousand per read from a socket: gigabytes for a thousand connections.
    const joinsFirst = exclusive && !awaitsContinue && !isChunked(request)
    if (joinsFirst) await joinBatch()
    await process(
      requestHead(request),
      (options) => readRawBody(request, options),
      (outcome, report) => respond(request, response, outcome, { lingerMs, awaitsContinue, report }),
      {
        beforeBody() {
          sendContinue?.()
          awaitsContinue = false
        },
        joinBatch: joinsFirst ? undefined : joinBatch,
      },
    )
  }
}
