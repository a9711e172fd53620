/** A UUID takes 16 bytes instead of 36. Every idempotency key is one, and so are the Ids that are documented (SERVICE 2.5). */
export type PackedUuid = string | Uint8Array

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

/** Other texts stay as they are, and so do UUIDs with capital letters. */
export function packUuid(text: string): PackedUuid {
  if (text.length !== 36 || !UUID.test(text)) return text
  const bytes = Buffer.allocUnsafe(16)
  bytes.write(text.slice(0, 8), 0, 'hex')
  bytes.write(text.slice(9, 13), 4, 'hex')
  bytes.write(text.slice(14, 18), 6, 'hex')
  bytes.write(text.slice(19, 23), 8, 'hex')
  bytes.write(text.slice(24), 10, 'hex')
  return bytes
}

export function unpackUuid(packed: PackedUuid): string {
  if (typeof packed === 'string') return packed
  const hex = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
