import { EventEmitter } from 'node:events'
import { ArrivingBody, type BodyMemory } from './body-memory.js'

const NOTHING = Buffer.alloc(0)
const SMALLEST_BLOCK_BYTES = 1_024

/**
 * The body that raw-body reads: the pieces of a request's body, joined into a few large chunks. raw-body keeps each chunk as
 * a Buffer, which takes some 400 bytes of memory even for one byte of body, and the sender decides how many pieces it sends.
 *
 * The first piece is passed on as it is. Later pieces are copied into blocks. Each block has the size of everything before it,
 * so that a body takes at most twice its bytes.
 *
 * It emits `evicted` if it has to give way to another body.
 */
export class CoalescedBody extends EventEmitter {
  readonly #memory: BodyMemory
  readonly #maxBytes: number
  readonly #expectedBytes: number
  #first: Buffer = NOTHING
  #block: Buffer = NOTHING
  #blockLength = 0
  #emittedBytes = 0
  #heldBytes = 0
  readonly #arriving = new ArrivingBody(() => {
    this.release()
    this.emit('evicted')
  })

  /** `expectedBytes` is the declared length, if there is one. No block is larger than the rest of it. */
  constructor(memory: BodyMemory, maxBytes: number, expectedBytes = maxBytes) {
    super()
    this.#memory = memory
    this.#maxBytes = maxBytes
    this.#expectedBytes = Math.min(expectedBytes, maxBytes)
  }

  /** Takes the next piece. Returns whether `maxBufferedBytes` has room for it. */
  write(piece: Buffer): boolean {
    if (this.#heldBytes === 0 && ownsItsMemory(piece)) {
      if (!this.#hold(piece.length)) return false
      this.#first = piece
      this.#emitChunk(piece)
      return true
    }
    let copied = 0
    // Ends early when a chunk has exceeded the limit: raw-body has refused the body then.
    while (copied < piece.length && this.#emittedBytes <= this.#maxBytes) {
      if (this.#blockLength === this.#block.length && !this.#addBlock(piece.length - copied)) return false
      const bytes = piece.copy(this.#block, this.#blockLength, copied)
      copied += bytes
      this.#blockLength += bytes
      if (this.#blockLength === this.#block.length) this.#emitBlock()
    }
    return true
  }

  end(): void {
    this.#emitBlock()
    this.emit('end')
  }

  /** The bytes to keep, of which `joined` is raw-body's copy. They count as held until `release()` is called. */
  settle(joined: Buffer): Buffer {
    this.#memory.arrived(this.#arriving)
    this.#memory.release(this.#heldBytes - joined.length)
    this.#heldBytes = joined.length
    return this.#first.length === joined.length ? this.#first : joined
  }

  release(): void {
    this.#memory.arrived(this.#arriving)
    this.#memory.release(this.#heldBytes)
    this.#heldBytes = 0
    this.#first = this.#block = NOTHING
    this.#blockLength = 0
  }

  #addBlock(neededBytes: number): boolean {
    const doublingBytes = Math.max(this.#emittedBytes, SMALLEST_BLOCK_BYTES)
    const bytes = Math.max(Math.min(doublingBytes, this.#expectedBytes - this.#emittedBytes), neededBytes)
    // One byte beyond the limit is enough for raw-body to refuse the body as soon as that byte arrives.
    const size = Math.min(bytes, this.#maxBytes + 1 - this.#emittedBytes)
    if (!this.#hold(size)) return false
    // Not from Node's pool: a small block would keep the whole pool in memory.
    this.#block = Buffer.allocUnsafeSlow(size)
    return true
  }

  #emitBlock(): void {
    const chunk = this.#block.subarray(0, this.#blockLength)
    this.#block = NOTHING
    this.#blockLength = 0
    if (chunk.length > 0) this.#emitChunk(chunk)
  }

  #emitChunk(chunk: Buffer): void {
    this.#emittedBytes += chunk.length
    this.emit('data', chunk)
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
