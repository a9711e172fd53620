import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { UsageError } from '../../io.js'

/** A receiver accepts 1 MiB by default. A device such as /dev/zero has no end. */
const MAX_BYTES = 67_108_864

/** The bytes of a file, a pipe or a device. @throws UsageError if there are too many, or the error of the file system */
export function readBounded(path: string): Promise<Buffer> {
  return boundedBytes(createReadStream(path), path)
}

/** The bytes of a stream, which is not read any further than the limit. @throws UsageError */
export async function boundedBytes(stream: Readable, name: string, maxBytes = MAX_BYTES): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece)
    length += piece.length
    if (length > maxBytes)
      throw new UsageError(
        `${name} has more than ${maxBytes.toLocaleString('en')} bytes: no recorded request is so large`,
      )
  }
  return Buffer.concat(pieces)
}
