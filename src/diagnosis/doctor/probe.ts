import { randomBytes, randomUUID, type KeyObject } from 'node:crypto'
import { markerText, probeKey } from '../../probe/marker.js'
import { formatAuthorization } from '../../signature/authorization-header.js'
import { hmacKey } from '../../signature/secret.js'
import { formatHttpDate } from '../../signature/timestamp.js'

/** A request that looks like a callback to proxies, and has a marker in two headers and in the body. */
export interface Probe {
  readonly nonce: string
  readonly key: KeyObject
  readonly sentAtMs: number
  /** Without those of the framing and `Host`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface ProbeOptions {
  readonly secret: string
  readonly eventTypeName: string
  /** What the receiver compares with its clock, in milliseconds since 1970. */
  readonly sentAtMs: number
  /** The length of the body. @default the shortest */
  readonly bodyBytes?: number
}

/** The headers of SERVICE 6, without which no callback is accepted. */
export const CALLBACK_HEADERS = [
  'Authorization',
  'Authorization-Timestamp',
  'X-Idempotency-Key',
  'X-Event-Type',
] as const

export function createProbe({ secret, eventTypeName, sentAtMs, bodyBytes = 0 }: ProbeOptions): Probe {
  const key = probeKey(hmacKey(secret))
  const nonce = randomUUID()
  const marker = markerText({ nonce, sentAtMs }, key)
  return {
    nonce,
    key,
    sentAtMs,
    headers: {
      'User-Agent': `countersign-doctor (${marker})`,
      Accept: '*/*',
      'Accept-Encoding': 'identity',
      'Content-Type': 'application/json',
      'X-Countersign-Probe': marker,
      'X-Idempotency-Key': randomUUID(),
      'X-Event-Type': eventTypeName,
      'Authorization-Timestamp': formatHttpDate(new Date(sentAtMs)),
      // Random bytes, so that the place of a signature never contains an HMAC of the secret.
      Authorization: formatAuthorization(randomBytes(32).toString('base64')),
    },
    body: bodyOf(marker, bodyBytes),
  }
}

/**
 * JSON that changes when it is parsed and serialised again, decoded as another encoding, or trimmed. The marker comes
 * first, where the receiver looks for it.
 */
function bodyOf(marker: string, bytes: number): Buffer {
  const start = `{"countersignProbe":"${marker}", "Id":"${randomUUID()}", "amount":10.50, "text":"\\u00fc é \\/ 😀", "fill":"`
  const end = '"}\r\n'
  const fill = Math.max(bytes - Buffer.byteLength(start + end), 0)
  return Buffer.from(`${start}${'0123456789abcdef'.repeat(Math.ceil(fill / 16)).slice(0, fill)}${end}`)
}
