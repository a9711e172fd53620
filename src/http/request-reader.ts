import type { IncomingMessage } from 'node:http'
import { createBatches } from './batch.js'
import { requestHead } from './callback-head.js'
import type { BodyLimits } from './body-limits.js'
import { readRawBody } from './raw-body.js'
import type { ReadBodyOptions } from './read-body.js'
import { callbackReader, type Intake } from './read-callback.js'

/** For middleware whose answer is written by the middleware after it. */
export function requestReader(limits: BodyLimits): (request: IncomingMessage) => Promise<Intake> {
  const { readCallback } = callbackReader(limits)
  const joinBatch = createBatches()
  return async (request) => {
    const source = {
      head: requestHead(request),
      readBody: (options: ReadBodyOptions) => readRawBody(request, options),
    }
    const intake = await readCallback(source, joinBatch)
    if (!intake.refused) markAsRead(request)
    return intake
  }
}

/** The parsers of Express 4 pass on a request with this mark. Without it, they fail because the stream has ended. */
function markAsRead(request: IncomingMessage & { _body?: boolean }): void {
  request._body = true
}
