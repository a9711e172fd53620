import type { IncomingMessage } from 'node:http'
import type { CallbackHeaders } from '../callback/callback.js'
import type { HeaderValue } from '../signature/index.js'
import type { CallbackHead } from './read-callback.js'

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

/** The headers of a request: as a raw list of names and values in turn, or by name where there is no such list. */
export interface RequestHeaders {
  readonly rawHeaders?: readonly string[] | undefined
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
}

export function requestHead(request: IncomingMessage & { originalUrl?: string }): CallbackHead {
  return {
    method: request.method,
    path: request.originalUrl ?? request.url ?? '/',
    headers: callbackHeaders(request),
    mayLackHeaders: mayLackHeaders(request),
  }
}

/**
 * The headers that count, from the raw list: of a repeated Authorization, Node keeps the first and drops the rest, and
 * joins most others, so that a repeat cannot be seen in `headers`.
 */
export function callbackHeaders(request: RequestHeaders): CallbackHeaders {
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
    if (field) found[field] = append(found[field], raw[index + 1]!)
  }
  return found
}

/**
 * Keeps at most two values: the second one already says that the header was repeated. A list that grew with each repeat
 * would let an unauthenticated head of 16 KB, which has room for a thousand repeats, cost a thousand times what others do.
 */
function append(already: HeaderValue, value: string): HeaderValue {
  if (already === undefined) return value
  return typeof already === 'string' ? [already, value] : already
}

/** How many entries Node keeps of a head, names and values counted, where `server.maxHeadersCount` is not set. */
const DEFAULT_MAX_ENTRIES = 2_000

/**
 * Whether Node may have dropped header lines: beyond `server.maxHeadersCount` it does so without an error, and a second
 * Authorization among the dropped lines would not be seen.
 */
export function mayLackHeaders({ rawHeaders, socket }: RequestHeaders & { socket?: object }): boolean {
  const { server } = (socket ?? {}) as { server?: { maxHeadersCount?: number | null } }
  const maxLines = server?.maxHeadersCount
  const maxEntries = typeof maxLines === 'number' ? maxLines * 2 : DEFAULT_MAX_ENTRIES
  // Zero or less means no limit to Node.
  return maxEntries > 0 && (rawHeaders?.length ?? 0) >= maxEntries
}

// Serverless adapters make requests that have `headers` only.
function rawHeaders({ rawHeaders, headers }: RequestHeaders): readonly string[] {
  if (rawHeaders && rawHeaders.length > 0) return rawHeaders
  return Object.entries(headers ?? {}).flatMap(([name, values]) =>
    [values ?? []].flat().flatMap((value) => [name, value]),
  )
}

export function isChunked({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.some((entry, index) => index % 2 === 0 && /^transfer-encoding$/i.test(entry))
}
