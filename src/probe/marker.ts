import { createHmac, hkdfSync, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'

/**
 * Recognises a probe of `countersign doctor`. It is a text in header values and in the body, so that a proxy can
 * remove some of the places. It does not cover the request, which a proxy may have changed.
 */
export interface ProbeMarker {
  /** A UUID. A receiver answers each nonce once. */
  readonly nonce: string
  /** When the probe was sent, in milliseconds since 1970. */
  readonly sentAtMs: number
  /** Base64url of the HMAC-SHA256. */
  readonly mac: string
}

const PREFIX = 'countersign-probe-1.'
const MARKER = /countersign-probe-1\.([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.(\d{13})\.([\w-]{43})/g

/** A proxy can change the marker of one place. Each marker costs one HMAC per candidate. */
const MAX_MARKERS = 3

/** The body begins with its marker, also after it has been parsed and serialised again. */
const SEARCHED_BODY_BYTES = 1_024

/** The documented label of HKDF-SHA256 (RFC 5869). The key is for probes and their reports only. */
const KEY_LABEL = 'countersign doctor probe 1'

/**
 * The key of probes. It is derived from the secret in one direction: nothing that is computed with it is valid as the
 * signature of a callback, or reveals one.
 */
export function probeKey(secret: KeyObject): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', KEY_LABEL, 32)))
}

export function markerText({ nonce, sentAtMs }: Omit<ProbeMarker, 'mac'>, key: KeyObject): string {
  return `${PREFIX}${nonce}.${sentAtMs}.${markerMac({ nonce, sentAtMs }, key).toString('base64url')}`
}

export function isMarkerOf(marker: ProbeMarker, key: KeyObject): boolean {
  const received = Buffer.from(marker.mac, 'base64url')
  const expected = markerMac(marker, key)
  return received.length === expected.length && timingSafeEqual(received, expected)
}

/** The different markers in header values and at the beginning of the body. Nothing is verified. */
export function findMarkers(rawHeaders: readonly string[], body: Uint8Array | undefined): ProbeMarker[] {
  const texts = rawHeaders.filter((value, index) => index % 2 === 1 && value.includes(PREFIX))
  if (body) {
    const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, SEARCHED_BODY_BYTES))
    if (start.includes(PREFIX)) texts.push(start.toString('latin1'))
  }
  const markers = new Map<string, ProbeMarker>()
  for (const text of texts) {
    for (const [whole, nonce, sentAt, mac] of text.matchAll(MARKER)) {
      markers.set(whole, { nonce: nonce!, sentAtMs: Number(sentAt), mac: mac! })
      if (markers.size === MAX_MARKERS) return [...markers.values()]
    }
  }
  return [...markers.values()]
}

function markerMac({ nonce, sentAtMs }: Omit<ProbeMarker, 'mac'>, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(`probe\n${nonce}\n${sentAtMs}`).digest()
}
