import type { CallbackAnswer } from './answer.js'
import type { PlainRequest } from './plain-request.js'

const NO_BYTES = new Uint8Array()

/**
 * The request of a server that uses the Fetch API. `Headers` joins repeated headers with commas. A repeated
 * Authorization is then malformed and refused.
 */
export function fromFetch(request: Request): PlainRequest {
  const { pathname, search } = new URL(request.url)
  return {
    method: request.method,
    path: pathname + search,
    rawHeaders: [...request.headers].flat(),
    body: () => request.body ?? NO_BYTES,
  }
}

export function toFetch({ status, headers, body }: CallbackAnswer): Response {
  return new Response(body === '' ? null : body, { status, headers })
}
