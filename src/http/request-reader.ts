import type { IncomingMessage } from 'node:http'
import { createBatches } from './batch.js'
import { requestHead } from './callback-head.js'
import type { BodyLimits } from './body-limits.js'
import { readRawBody } from './raw-body.js'
import type { ReadBodyOptions } from './read-body.js'
import { callbackReader, type Intake } from './read-callback.js'

/** For middleware whose answer is written by the middleware after it. */
export function requestReader(limits: BodyLimits): (request: IncomingMessage) => Promise<Intake> {
  const readCallback = callbackReader(limits)
  const joinBatch = createBatches()
  return async (request) => {
    const source = {
      head: requestHead(request),
      readBody: (options: ReadBodyOptions) => readRawBody(request, options),
    }
    return readCallback(source, joinBatch)
  }
}
