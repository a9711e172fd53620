import type { IncomingMessage, ServerResponse } from 'node:http'
import { createBatches } from './batch.js'
import { isChunked, requestHead } from './callback-headers.js'
import type { ProcessCallback } from './process-callback.js'
import { readRawBody } from './raw-body.js'
import { respond } from './respond.js'

/** Answers one request. Never throws and never rejects: whatever happens, the sender gets an answer. */
export type CallbackListener = (
  request: IncomingMessage,
  response: ServerResponse,
  /** Given when the sender waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1). */
  sendContinue?: () => void,
) => Promise<void>

interface ListenerOptions {
  /** How long a refused sender that is still sending is listened to, in milliseconds. */
  readonly lingerMs: number
  /** Nobody else reads the requests: a batch may be waited for before the body is read. */
  readonly exclusive: boolean
}

export function callbackListener(
  process: ProcessCallback,
  { lingerMs, exclusive }: ListenerOptions,
): CallbackListener {
  const joinBatch = createBatches()
  return async (request, response, sendContinue) => {
    let awaitsContinue = sendContinue !== undefined
    // A chunked body has to be read as it arrives. Until then Node keeps each chunk as a Buffer of its own, ten thousand
    // for each read from a socket, which for a thousand connections would take gigabytes.
    const joinsFirst = exclusive && !awaitsContinue && !isChunked(request)
    if (joinsFirst) await joinBatch()
    await process(
      requestHead(request),
      (options) => readRawBody(request, options),
      (outcome) => respond(request, response, outcome, { lingerMs, awaitsContinue }),
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
