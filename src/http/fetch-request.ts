import { invalidOption, kindOf } from '../base/option-checks.js'
import { parseUrl } from '../base/parse-url.js'
import type { CallbackAnswer } from './answer.js'
import { isIterable, type PlainRequest } from './plain-request.js'

const NO_BYTES = new Uint8Array()

/**
 * The request of a server that uses the Fetch API. `Headers` joins repeated headers with commas. A repeated
 * Authorization is then malformed and refused. A repeated X-Event-Type is then another event type, because the name of
 * an event type may have commas.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function fromFetch(request: Request): PlainRequest {
  if (!isRequest(request)) {
    const cure = 'pass the Request of the Fetch API that your server or framework passes'
    throw invalidOption('receiver.fetch', 'request', request, cure, kindOf(request))
  }
  const { method, url, headers } = request
  const parsed = parseUrl(url)
  return {
    method,
    // An adapter may make the URL from the Host header of the sender, or give the path alone.
    path: parsed ? parsed.pathname + parsed.search : url,
    rawHeaders: [...headers].flat(),
    body: () => request.body ?? NO_BYTES,
  }
}

/** Not `instanceof`: frameworks bring classes of their own. */
function isRequest(request: unknown): boolean {
  if (typeof request !== 'object' || request === null) return false
  const { method, url, headers } = request as Partial<Request>
  return typeof method === 'string' && typeof url === 'string' && isIterable(headers)
}

export function toFetch({ status, headers, body }: CallbackAnswer): Response {
  return new Response(body === '' ? null : body, { status, headers })
}
