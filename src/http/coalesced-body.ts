import { ArrivingBody, type BodyMemory } from './body-memory.js'

const NOTHING = Buffer.alloc(0)
const SMALLEST_BLOCK_BYTES = 1_024

/**
 * The body of a request, of which the pieces are joined into a few large chunks as they arrive. Each Buffer takes some 400 bytes of
 * memory even for one byte of body, and the sender decides how many pieces it sends.
 *
 * The first piece is kept as it is. Later pieces are copied into blocks. Each block has the size of everything before it, so that a body
 * takes at most twice its bytes.
 */
export class CoalescedBody {
  readonly #memory: BodyMemory
  readonly #expectedBytes: number
  readonly #arriving: ArrivingBody
  #chunks: Buffer[] = []
  /** The last chunk, unless that is the first piece. */
  #block: Buffer = NOTHING
  #blockLength = 0
  #heldBytes = 0
  #length = 0

  /**
   * `expectedBytes`: the declared length, or the largest one. No block is larger than the rest of it. `onEvicted` is called if the body
   * has to give way to another one.
   */
  constructor(memory: BodyMemory, expectedBytes: number, onEvicted: () => void) {
    this.#memory = memory
    this.#expectedBytes = expectedBytes
    this.#arriving = new ArrivingBody(() => {
      this.release()
      onEvicted()
    })
  }

  /** How many bytes have arrived. */
  get length(): number {
    return this.#length
  }

  /** Takes the next piece. Returns whether `maxBufferedBytes` has room for it. */
  add(piece: Buffer): boolean {
    if (this.#length === 0 && ownsItsMemory(piece)) {
      if (!this.#hold(piece.length)) return false
      if (piece.length > 0) this.#chunks.push(piece)
      this.#length = piece.length
      return true
    }
    let copied = 0
    while (copied < piece.length) {
      if (this.#blockLength === this.#block.length && !this.#addBlock(piece.length - copied)) return false
      const bytes = piece.copy(this.#block, this.#blockLength, copied)
      copied += bytes
      this.#blockLength += bytes
      this.#length += bytes
    }
    return true
  }

  /** The whole body. It counts as held until `release()` is called. */
  join(): Buffer {
    const [first = NOTHING] = this.#chunks
    // The last block may not be full.
    const bytes = first.length === this.#length ? first : Buffer.concat(this.#chunks, this.#length)
    this.#chunks = []
    this.#block = NOTHING
    this.#memory.arrived(this.#arriving)
    this.#memory.release(this.#heldBytes - bytes.length)
    this.#heldBytes = bytes.length
    return bytes
  }

  release(): void {
    this.#memory.arrived(this.#arriving)
    this.#memory.release(this.#heldBytes)
    this.#heldBytes = 0
    this.#chunks = []
    this.#block = NOTHING
    this.#blockLength = 0
  }

  #addBlock(neededBytes: number): boolean {
    const doublingBytes = Math.max(this.#length, SMALLEST_BLOCK_BYTES)
    const size = Math.max(Math.min(doublingBytes, this.#expectedBytes - this.#length), neededBytes)
    if (!this.#hold(size)) return false
    // Not from Node's pool: a small block would keep the whole pool in memory.
    this.#block = Buffer.allocUnsafeSlow(size)
    this.#blockLength = 0
    this.#chunks.push(this.#block)
    return true
  }

  #hold(bytes: number): boolean {
    if (!this.#memory.hold(bytes, this.#heldBytes + bytes, this.#arriving)) return false
    this.#heldBytes += bytes
    return true
  }
}

/** Over HTTP/2 a piece is a slice of a larger buffer and keeps the whole buffer in memory. */
function ownsItsMemory({ length, buffer }: Buffer): boolean {
  return length === buffer.byteLength
}
