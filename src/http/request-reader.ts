import type { IncomingMessage } from 'node:http'
import type { CallbackRequest, ReadRequest } from '../callback/callback.js'
import type { Refusal } from '../callback/outcomes.js'
import { arrivedRequest } from './arrived-request.js'
import { createBatches } from './batch.js'
import type { BodyLimits } from './body-limits.js'
import { readRawBody } from './raw-body.js'
import type { ReadBodyOptions } from './read-body.js'
import { callbackReader } from './read-callback.js'

interface Reading {
  readonly request: CallbackRequest
  readonly read: ReadRequest | Refusal
}

/** For middleware whose answer is written by the middleware after it. */
export function requestReader(limits: BodyLimits): (request: IncomingMessage) => Promise<Reading> {
  const { readCallback } = callbackReader(limits)
  const joinBatch = createBatches()
  return async (incoming) => {
    const request = arrivedRequest(incoming)
    const readBody = (options: ReadBodyOptions) => readRawBody(incoming, options)
    const read = await readCallback({ request, readBody }, joinBatch)
    if (!('refused' in read)) markAsRead(incoming)
    return { request, read }
  }
}

/** The parsers of Express 4 pass on a request with this mark. Without it, they fail because the stream has ended. */
function markAsRead(request: IncomingMessage & { _body?: boolean }): void {
  request._body = true
}
