import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Variant } from './change.js'
import type { HeaderLine } from './received-request.js'
import { SIGNATURE } from './signature-candidates.js'

/** A signature that arrived, or its salted digest. */
export interface ReceivedSignature extends Variant<Buffer> {
  /** `value` is the SHA-256 of this salt and the signature. */
  readonly salt?: Buffer
}

const MARKER = /\[salted-sha256:([\da-f]{32}):([\w+/=-]{43,64})\]/g

/**
 * Replaces each signature in the value of a header by a marker with its salted SHA-256. A signature has 256 random bits, so
 * the marker reveals nothing. Whoever has the secret can still compare with it. The digest has the same spelling as the
 * signature, because the spelling may be the mistake to be explained.
 */
export function markSignatures(value: string): string {
  return value.replace(SIGNATURE, (text) => {
    const isHex = text.length === 64
    const signature = Buffer.from(text, isHex ? 'hex' : 'base64')
    for (;;) {
      const salt = randomBytes(16)
      const spelled = spelledLike(text, saltedDigest(salt, signature))
      // About one digest in four has no character by which URL-safe Base64 is recognised.
      if (isHex || /[-_]/.test(spelled) === /[-_]/.test(text))
        return `[salted-sha256:${salt.toString('hex')}:${spelled}]`
    }
  })
}

/** Whether a marker stands in place of a signature in this text. */
export function hasMarker(text: string): boolean {
  return text.search(MARKER) !== -1
}

/** The header lines with the digests in place of the markers, and the salt of each digest. */
export function withoutMarkers(lines: readonly HeaderLine[]): {
  readonly lines: HeaderLine[]
  salted(signatures: readonly Variant<Buffer>[]): ReceivedSignature[]
} {
  const salts = new Map<string, Buffer>()
  const bare = lines.map(({ name, value }) => ({
    name,
    value: value.replace(MARKER, (_marker, salt: string, digest: string) => {
      const bytes = Buffer.from(digest, digest.length === 64 ? 'hex' : 'base64')
      salts.set(bytes.toString('hex'), Buffer.from(salt, 'hex'))
      return digest
    }),
  }))
  return {
    lines: bare,
    salted: (signatures) =>
      signatures.map((each) => {
        const salt = salts.get(each.value.toString('hex'))
        return salt ? { ...each, salt } : each
      }),
  }
}

/** Whether this is the signature that arrived. Takes the same time for every signature. */
export function isSame(signature: Buffer, { value, salt }: ReceivedSignature): boolean {
  return timingSafeEqual(salt ? saltedDigest(salt, signature) : signature, value)
}

function saltedDigest(salt: Buffer, signature: Buffer): Buffer {
  return createHash('sha256').update(salt).update(signature).digest()
}

function spelledLike(text: string, digest: Buffer): string {
  if (text.length === 64) return digest.toString('hex')
  const base64 = digest.toString(/[-_]/.test(text) ? 'base64url' : 'base64').replace(/=$/, '')
  return text.endsWith('=') ? `${base64}=` : base64
}
