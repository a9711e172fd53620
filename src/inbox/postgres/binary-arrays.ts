/**
 * One-dimensional arrays in the binary format of PostgreSQL. The driver sends a Buffer as it is. The text format would need each
 * element to be escaped, and bytes to be written as hexadecimal digits.
 */
export function textArray(texts: readonly (string | null)[]): Buffer {
  const lengthOf = (text: string) => Buffer.byteLength(text)
  return arrayOf(OID.text, texts, lengthOf, (bytes, text, at) => bytes.write(text, at))
}

export function byteaArray(values: readonly Uint8Array[]): Buffer {
  const lengthOf = ({ length }: Uint8Array) => length
  return arrayOf(OID.bytea, values, lengthOf, (bytes, value, at) => bytes.set(value, at))
}

/** Of the 16 bytes at `from` in each `step` bytes. */
export function uuidArray(values: Buffer, from: number, step: number): Buffer {
  const places = Array.from({ length: values.length / step }, (_, index) => from + index * step)
  const write = (bytes: Buffer, place: number, at: number) => values.copy(bytes, at, place, place + 16)
  return arrayOf(OID.uuid, places, () => 16, write)
}

export function bigintArray(values: readonly (bigint | null)[]): Buffer {
  const write = (bytes: Buffer, value: bigint, at: number) => bytes.writeBigInt64BE(value, at)
  return arrayOf(OID.int8, values, () => 8, write)
}

export function integerArray(values: readonly number[]): Buffer {
  const write = (bytes: Buffer, value: number, at: number) => bytes.writeInt32BE(value, at)
  return arrayOf(OID.int4, values, () => 4, write)
}

/** Of `pg_type`. These are the same in every database. */
const OID = { bytea: 17, int8: 20, int4: 23, text: 25, uuid: 2950 } as const

const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

function arrayOf<Value>(
  type: number,
  values: readonly (Value | null)[],
  lengthOf: (value: Value) => number,
  write: (bytes: Buffer, value: Value, at: number) => void,
): Buffer {
  const lengths = values.map((value) => (value === null ? NULL_LENGTH : lengthOf(value)))
  const room = lengths.reduce((sum, length) => sum + LENGTH_BYTES + Math.max(0, length), HEADER_BYTES)
  const bytes = Buffer.allocUnsafe(room)
  // Dimensions, whether there are nulls, type, number of elements, first subscript. An empty array has no dimensions.
  const hasNull = values.includes(null) ? 1 : 0
  const header = values.length === 0 ? [0, 0, type] : [1, hasNull, type, values.length, 1]
  let at = 0
  for (const field of header) at = bytes.writeInt32BE(field, at)
  for (const [index, value] of values.entries()) {
    const length = lengths[index]!
    at = bytes.writeInt32BE(length, at)
    if (value === null) continue
    write(bytes, value, at)
    at += length
  }
  return bytes.subarray(0, at)
}
