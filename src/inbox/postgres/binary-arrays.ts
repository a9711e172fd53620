/**
 * One-dimensional arrays in the binary format of PostgreSQL. The driver sends a Buffer as it is. The text format would need each
 * element to be escaped, and bytes to be written as hexadecimal digits.
 */
export function textArray(texts: readonly (string | null)[]): Buffer {
  // A UTF-16 code unit takes at most 3 bytes in UTF-8.
  const room = texts.reduce((sum, text) => sum + LENGTH_BYTES + 3 * (text?.length ?? 0), HEADER_BYTES)
  const bytes = Buffer.allocUnsafe(room)
  let at = writeHeader(bytes, OID.text, texts)
  for (const text of texts) {
    const length = text === null ? 0 : bytes.write(text, at + LENGTH_BYTES)
    bytes.writeInt32BE(text === null ? NULL_LENGTH : length, at)
    at += LENGTH_BYTES + length
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
const OID = { bytea: 17, int8: 20, int4: 23, text: 25 } as const

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
