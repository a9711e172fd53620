import type { CallbackHeaders } from '../callback/callback.js'
import type { HeaderValue } from '../signature/credentials.js'

/** Indexed by the length of the name: no two of them share it, and it excludes most other headers. */
const FIELDS: readonly (readonly [name: string, field: keyof CallbackHeaders] | undefined)[] = byLength([
  ['authorization', 'authorization'],
  ['authorization-timestamp', 'timestamp'],
  ['x-idempotency-key', 'idempotencyKey'],
  ['x-event-type', 'eventType'],
  ['content-encoding', 'contentEncoding'],
  ['content-length', 'contentLength'],
])

function byLength<Entry extends readonly [string, unknown]>(
  entries: readonly Entry[],
): (Entry | undefined)[] {
  const longest = Math.max(...entries.map(([name]) => name.length))
  return Array.from({ length: longest + 1 }, (_, length) => entries.find(([name]) => name.length === length))
}

/** The headers of a request: as a raw list of alternating names and values, or by name if there is no raw list. */
export interface RequestHeaders {
  readonly rawHeaders?: readonly string[] | undefined
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
}

/** What is read of a request besides its method, its path and its body. Probes report the connection. */
export interface RequestSource extends RequestHeaders {
  readonly httpVersion?: string | undefined
  readonly socket?: { readonly remoteFamily?: string | undefined } | undefined
}

/**
 * Reads the headers of a callback from the raw list. In `headers` a repeat cannot be seen: Node keeps the first
 * Authorization, drops further ones, and joins most other headers.
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
  const raw = givenLines(request)
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!
    const entry = FIELDS[name.length]
    if (entry && name.toLowerCase() === entry[0])
      found[entry[1]] = append(found[entry[1]], String(raw[index + 1]))
  }
  return found
}

/**
 * Keeps at most two values, because the second one already shows that the header was repeated. With a growing list,
 * an unauthenticated head of 16 KB with a thousand repeats would cost a thousand times as much as a normal one.
 */
function append(already: HeaderValue, value: string): HeaderValue {
  if (already === undefined) return value
  return typeof already === 'string' ? [already, value] : already
}

/** How many entries of a head Node keeps if `server.maxHeadersCount` is not set. Names and values are counted. */
const DEFAULT_MAX_ENTRIES = 2_000

/**
 * Whether Node may have dropped header lines. Above `server.maxHeadersCount` it drops them without an error, and a
 * second Authorization could be among them.
 */
export function mayLackHeaders({ rawHeaders, socket }: RequestSource): boolean {
  const { server } = (socket ?? {}) as { server?: { maxHeadersCount?: number | null } }
  const maxLines = server?.maxHeadersCount
  const maxEntries = typeof maxLines === 'number' ? maxLines * 2 : DEFAULT_MAX_ENTRIES
  // For Node, zero or less means no limit.
  return maxEntries > 0 && (rawHeaders?.length ?? 0) >= maxEntries
}

/** Alternating names and values. */
export function headerLines(request: RequestHeaders): readonly string[] {
  const lines = givenLines(request)
  for (const line of lines) if (typeof line !== 'string') return lines.map(String)
  return lines
}

/**
 * Serverless adapters create requests that have `headers` only, or a number as the Content-Length in `rawHeaders`. To look at each
 * value takes longer than to find the headers of a callback, which therefore convert their own values. `headers` is not read if there
 * is the raw list: Node 26.12 makes it only then, and fails if the application has shortened the list.
 */
function givenLines(request: RequestHeaders): readonly string[] {
  const { rawHeaders } = request
  if (rawHeaders && rawHeaders.length > 0) return rawHeaders
  return Object.entries(request.headers ?? {}).flatMap(([name, values]) =>
    // An application in JavaScript may pass numbers.
    [values ?? []].flat().flatMap((value: unknown) => [name, String(value)]),
  )
}

/** The values of one header, in the order in which they arrived. */
export function headerValues(raw: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]!.length === name.length && raw[index]!.toLowerCase() === name) values.push(raw[index + 1]!)
  }
  return values
}

const TRANSFER_ENCODING = 'transfer-encoding'

export function isChunked(request: RequestHeaders): boolean {
  const lines = givenLines(request)
  for (let index = 0; index < lines.length; index += 2) {
    const { length } = lines[index]!
    if (length === TRANSFER_ENCODING.length && lines[index]!.toLowerCase() === TRANSFER_ENCODING) return true
  }
  return false
}
