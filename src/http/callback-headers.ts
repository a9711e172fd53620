import type { IncomingMessage } from 'node:http'
import type { CallbackHeaders } from '../callback.js'
import type { HeaderValue } from '../signature/index.js'

const FIELDS = new Map<string, keyof CallbackHeaders>([
  ['authorization', 'authorization'],
  ['authorization-timestamp', 'timestamp'],
  ['x-idempotency-key', 'idempotencyKey'],
  ['x-event-type', 'eventType'],
  ['content-encoding', 'contentEncoding'],
  ['content-length', 'contentLength'],
])
// Most names can be told by their length not to be among these.
const LENGTHS = new Set([...FIELDS.keys()].map((name) => name.length))

/**
 * The headers that count, from the raw list: of a repeated Authorization, Node keeps the first and drops the rest, and
 * joins most others, so that a repeat cannot be seen in `headers`.
 */
export function callbackHeaders(request: IncomingMessage): CallbackHeaders {
  const found: Record<keyof CallbackHeaders, HeaderValue> = {
    authorization: undefined,
    timestamp: undefined,
    idempotencyKey: undefined,
    eventType: undefined,
    contentEncoding: undefined,
    contentLength: undefined,
  }
  const raw = rawHeaders(request)
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!
    const field = LENGTHS.has(name.length) ? FIELDS.get(name.toLowerCase()) : undefined
    if (field) found[field] = and(found[field], raw[index + 1]!)
  }
  return found
}

function and(already: HeaderValue, value: string): HeaderValue {
  return already === undefined ? value : [already, value].flat()
}

// Serverless adapters make requests that have `headers` only.
function rawHeaders({ rawHeaders, headers }: IncomingMessage): readonly string[] {
  if (rawHeaders?.length > 0) return rawHeaders
  return Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().flatMap((value) => [name, value]),
  )
}
