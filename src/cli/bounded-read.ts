import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { UsageError } from './io.js'

/** A receiver accepts 1 MiB by default. A device such as /dev/zero has no end. */
const MAX_BYTES = 67_108_864

/** The bytes of a file, a pipe or a device. @throws UsageError if there are too many, or it cannot be read */
export async function readBounded(path: string, name = path): Promise<Buffer> {
  try {
    return await boundedBytes(createReadStream(path), name)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw unreadable(name, error)
  }
}

/** The names in a folder; undefined if it is a file. @throws UsageError if it cannot be read */
export async function namesIn(path: string): Promise<string[] | undefined> {
  try {
    return (await stat(path)).isDirectory() ? await readdir(path) : undefined
  } catch (error) {
    throw unreadable(path, error)
  }
}

export function unreadable(name: string, error: unknown): UsageError {
  return new UsageError(`cannot read ${name} (${(error as NodeJS.ErrnoException).code})`, { cause: error })
}

/** The bytes of a stream, which is not read any further than the limit. @throws UsageError */
export async function boundedBytes(stream: Readable, name: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece)
    length += piece.length
    if (length > MAX_BYTES)
      throw new UsageError(
        `${name} has more than ${MAX_BYTES.toLocaleString('en')} bytes, the most that is read`,
      )
  }
  return Buffer.concat(pieces)
}
