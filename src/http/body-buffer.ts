import type { BodyMemory } from './body-memory.js'

const NOTHING = Buffer.alloc(0)

/** Enough for most callbacks, so that a small body in pieces is copied only once. */
const SMALLEST_BYTES = 1_024

export type AppendFailure = 'ERR_BODY_TOO_LARGE' | 'ERR_BODY_MEMORY_FULL'

/**
 * The bytes of one body as they arrive. They are copied into one buffer that doubles when it is full: a list of the pieces
 * would take some 400 bytes for each, and whoever sends a body decides how many pieces it has. A body that arrives in one
 * piece, as nearly all do, is not copied.
 */
export class BodyBuffer {
  readonly #memory: BodyMemory
  readonly #maxBytes: number
  readonly #expectedBytes: number
  #buffer: Buffer = NOTHING
  #length = 0

  /** `expectedBytes` is the declared length, where there is one: a buffer need not become larger. */
  constructor(memory: BodyMemory, maxBytes: number, expectedBytes = maxBytes) {
    this.#memory = memory
    this.#maxBytes = maxBytes
    this.#expectedBytes = Math.min(expectedBytes, maxBytes)
  }

  append(piece: Buffer): AppendFailure | undefined {
    const length = this.#length + piece.length
    if (length > this.#maxBytes) return 'ERR_BODY_TOO_LARGE'
    if (this.#length === 0 && ownsItsMemory(piece)) {
      if (!this.#memory.hold(length, length)) return 'ERR_BODY_MEMORY_FULL'
      this.#buffer = piece
    } else {
      if (length > this.#buffer.length && !this.#grow(length)) return 'ERR_BODY_MEMORY_FULL'
      this.#buffer.set(piece, this.#length)
    }
    this.#length = length
    return undefined
  }

  /** All that has arrived. Still held: call `release()` when it is no longer needed. */
  bytes(): Buffer {
    if (this.#length === this.#buffer.length) return this.#buffer
    // A copy, as an event may be kept for long, and would keep the unused rest with it.
    const bytes = Buffer.from(this.#buffer.subarray(0, this.#length))
    this.#memory.release(this.#buffer.length - bytes.length)
    this.#buffer = bytes
    return bytes
  }

  release(): void {
    this.#memory.release(this.#buffer.length)
    this.#buffer = NOTHING
    this.#length = 0
  }

  #grow(length: number): boolean {
    const doubled = Math.max(2 * length, SMALLEST_BYTES)
    const size = Math.max(Math.min(doubled, this.#expectedBytes), length)
    if (!this.#memory.hold(size - this.#buffer.length, size)) return false
    // Not from Node's pool, of which a small piece would keep the whole.
    const buffer = Buffer.allocUnsafeSlow(size)
    buffer.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = buffer
    return true
  }
}

/** Over HTTP/2 a piece is a slice of all that was read from the socket, and keeps that in memory. */
function ownsItsMemory({ length, buffer }: Buffer): boolean {
  return length === buffer.byteLength
}
