/**
 * One-dimensional arrays in the binary format of PostgreSQL. The driver sends a Buffer as it is. The text format would need each
 * element to be escaped, and bytes to be written as hexadecimal digits.
 */
export function textArray(texts: readonly (string | null)[]): Buffer {
  const lengths = texts.map((text) => (text === null ? NULL_LENGTH : Buffer.byteLength(text)))
  const bytes = Buffer.allocUnsafe(
    lengths.reduce((sum, length) => sum + LENGTH_BYTES + Math.max(0, length), HEADER_BYTES),
  )
  let at = writeHeader(bytes, OID.text, texts)
  for (const [index, text] of texts.entries()) {
    at = bytes.writeInt32BE(lengths[index]!, at)
    if (text !== null) at += bytes.write(text, at)
  }
  return bytes.subarray(0, at)
}

export function byteaArray(values: readonly Uint8Array[]): Buffer {
  const room = values.reduce((sum, { length }) => sum + LENGTH_BYTES + length, HEADER_BYTES)
  const bytes = Buffer.allocUnsafe(room)
  let at = writeHeader(bytes, OID.bytea, values)
  for (const value of values) {
    bytes.writeInt32BE(value.length, at)
    bytes.set(value, at + LENGTH_BYTES)
    at += LENGTH_BYTES + value.length
  }
  return bytes.subarray(0, at)
}

/** Of the 16 bytes at `from` in each `step` bytes. */
export function uuidArray(values: Buffer, from: number, step: number): Buffer {
  const count = values.length / step
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + count * (LENGTH_BYTES + 16))
  let at = writeHeader(bytes, OID.uuid, Array.from({ length: count }))
  for (let index = 0; index < count; index++) {
    bytes.writeInt32BE(16, at)
    values.copy(bytes, at + LENGTH_BYTES, from + index * step, from + index * step + 16)
    at += LENGTH_BYTES + 16
  }
  return bytes.subarray(0, at)
}

export function bigintArray(values: readonly (bigint | null)[]): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + values.length * (LENGTH_BYTES + 8))
  let at = writeHeader(bytes, OID.int8, values)
  for (const value of values) {
    at = bytes.writeInt32BE(value === null ? NULL_LENGTH : 8, at)
    if (value !== null) at = bytes.writeBigInt64BE(value, at)
  }
  return bytes.subarray(0, at)
}

export function integerArray(values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + values.length * (LENGTH_BYTES + 4))
  let at = writeHeader(bytes, OID.int4, values)
  for (const value of values) at = bytes.writeInt32BE(value, bytes.writeInt32BE(4, at))
  return bytes.subarray(0, at)
}

/** Of `pg_type`. These are the same in every database. */
const OID = { bytea: 17, int8: 20, int4: 23, text: 25, uuid: 2950 } as const

const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

/** Dimensions, whether there are nulls, type, number of elements, first subscript. Returns where the elements begin. */
function writeHeader(bytes: Buffer, elementType: number, elements: readonly unknown[]): number {
  if (elements.length === 0) {
    // An empty array has no dimensions.
    return bytes.writeInt32BE(elementType, bytes.writeInt32BE(0, bytes.writeInt32BE(0, 0)))
  }
  const fields = [1, elements.includes(null) ? 1 : 0, elementType, elements.length, 1]
  return fields.reduce((at, field) => bytes.writeInt32BE(field, at), 0)
}
