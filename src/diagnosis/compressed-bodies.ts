import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from 'node:zlib'
import type { Alternative, Hypothesis } from './change.js'

/** How much larger a decompressed body may be: a small body must not cost the time of a large one. */
const MAX_GROWTH = 16
const MIN_LIMIT_BYTES = 65_536

/** The strongest level of Brotli takes milliseconds for each KiB. */
const MAX_STRONG_BROTLI_BYTES = 4_096

export const compressionHypotheses: readonly Hypothesis<Buffer>[] = [
  { cause: 'body-compressed', isSlow: true, alternatives: decompressed },
  { cause: 'body-decompressed', isSlow: true, alternatives: compressed },
]

/** The body was compressed after it was signed. */
function* decompressed(body: Buffer): Iterable<Alternative<Buffer>> {
  const maxOutputLength = Math.max(MIN_LIMIT_BYTES, body.length * MAX_GROWTH)
  const decoders = [
    ['gzip', gunzipSync],
    ['deflate', inflateSync],
    ['raw deflate', inflateRawSync],
    ['Brotli', brotliDecompressSync],
  ] as const
  // JSON and other text is not compressed.
  if (body.length === 0 || /^\s*[{["]/.test(body.toString('latin1', 0, 16))) return
  for (const [name, decode] of decoders) {
    let value
    try {
      value = decode(body, { maxOutputLength })
    } catch {
      continue
    }
    yield { value, change: `decompressed from ${name}` }
  }
}

/**
 * The body was decompressed after it was signed. Only what these programs write can be found: zlib at its usual levels, with
 * the bytes for the operating system that common languages write, and Brotli.
 */
function* compressed(body: Buffer): Iterable<Alternative<Buffer>> {
  for (const level of [6, 9, 1]) {
    const gzip = gzipSync(body, { level })
    yield { value: gzip, change: 'compressed as gzip' }
    // RFC 1952, section 2.3.1: 255 is an unknown system, 3 is Unix, 0 is FAT, 10 is NTFS. The byte before it is the level.
    for (const system of [255, 3, 0, 10, 19]) {
      for (const flags of [gzip[8]!, 0, 2, 4]) {
        const other = Buffer.from(gzip)
        other[8] = flags
        other[9] = system
        yield { value: other, change: 'compressed as gzip', weight: 2 }
      }
    }
    yield { value: deflateSync(body, { level }), change: 'compressed as deflate', weight: 2 }
    yield { value: deflateRawSync(body, { level }), change: 'compressed as raw deflate', weight: 3 }
  }
  for (const quality of body.length <= MAX_STRONG_BROTLI_BYTES ? [4, 5, 11] : [4, 5]) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality }
    yield { value: brotliCompressSync(body, { params }), change: 'compressed as Brotli', weight: 2 }
  }
}
