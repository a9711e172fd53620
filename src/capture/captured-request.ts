import type { CallbackRequest } from '../callback/callback.js'
import type { Outcome } from '../callback/outcomes.js'
import { withoutQuery } from '../callback/subscriptions.js'
import { hideCredentials } from './hidden-credentials.js'

/** A request that has been answered, and its outcome. */
export interface CapturedRequest extends Pick<
  CallbackRequest,
  'method' | 'path' | 'headers' | 'rawHeaders' | 'body'
> {
  readonly outcome: Outcome
}

/** The files of one request, as `loadRecordedRequests` reads them. */
export interface CapturedFiles {
  /** The request: its bytes as far as Node passes them on. Chunks are joined to one. */
  readonly http: Buffer
  /** The description, in JSON. */
  readonly json: string
}

/** In place of the secret, which is not written. `countersign verify` takes the secret of the configuration. */
export const NO_SECRET = '[not captured]'

/** `http:` because that needs no certificate to replay to, and a name that no server can have (RFC 2606). */
const UNKNOWN_URL = 'http://unknown.invalid/'

export function capturedFiles(
  request: CapturedRequest,
  receivedAt: Date,
  { keepSignatures }: { readonly keepSignatures: boolean },
): CapturedFiles {
  const valueOf: ShownValue = keepSignatures ? (_name, value) => value : hideCredentials
  return {
    http: requestBytes(request, valueOf),
    json: `${JSON.stringify(description(request, receivedAt, valueOf), undefined, 2)}\n`,
  }
}

/** What is written of the value of a header. */
type ShownValue = (name: string, value: string) => string

function description(
  { outcome, headers, body }: CapturedRequest,
  receivedAt: Date,
  valueOf: ShownValue,
): object {
  const { code, status, callback } = outcome
  const claimed = valueOf('X-Event-Type', String(headers.eventType ?? ''))
  return {
    sender: 'captured by countersign',
    subscription: {
      // Unverified unless the signature matched.
      eventTypeName: callback?.subscription.eventTypeName ?? (claimed.slice(0, 100) || 'unknown'),
      callbackUrl: withoutQuery(callback?.subscription.callbackUrl ?? UNKNOWN_URL),
      secret: NO_SECRET,
    },
    expect: { status, outcome: outcome.name },
    note: '',
    bodyRead: body !== undefined,
    code,
    verified: callback !== undefined,
    receivedAt: receivedAt.toISOString(),
  }
}

function requestBytes(
  { method: given = '', path, rawHeaders, body }: CapturedRequest,
  valueOf: ShownValue,
): Buffer {
  const fields: string[] = []
  let isChunked = false
  let hasLength = false
  for (const [name, value] of pairs(rawHeaders)) {
    // HTTP/2 has the authority in place of the Host header, and further pseudo-headers (RFC 9113, section 8.3.1).
    const written = name === ':authority' ? 'Host' : name
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(written)) continue
    isChunked ||= /^transfer-encoding$/i.test(written)
    hasLength ||= /^content-length$/i.test(written)
    fields.push(`${written}: ${valueOf(written, value).replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')}`)
  }
  if (body && !isChunked && !hasLength) fields.push(`Content-Length: ${body.length}`)
  // A target from another server than Node's may have spaces or line ends, which would be further header lines.
  const target = path.replace(/[^\x21-\x7e]/g, encodeURIComponentSafely) || '/'
  const method = /^[A-Z]{1,20}$/.test(given) ? given : 'POST'
  const start = Buffer.from(`${method} ${target} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`, 'latin1')
  if (!body) return start
  if (!isChunked) return Buffer.concat([start, body])
  const end = '0\r\n\r\n'
  if (body.length === 0) return Buffer.concat([start, Buffer.from(end)])
  const size = `${body.length.toString(16)}\r\n`
  return Buffer.concat([start, Buffer.from(size), body, Buffer.from(`\r\n${end}`)])
}

function encodeURIComponentSafely(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('')
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : [],
  )
}
