import { writeSync } from 'node:fs'

/** How much is buffered for the reader, in bytes. */
const MAX_WAITING_BYTES = 1_048_576
/** How often a write to a blocked reader is retried, in milliseconds. */
const RETRY_MS = 20

interface StandardOutput {
  readonly fd: number
  readonly _handle?: { readonly fd?: number; readonly setBlocking?: (blocking: boolean) => number } | null
}

/**
 * Writes lines to standard output without waiting for the reader. What the reader has not read is buffered up to a
 * limit; further lines are dropped and counted. It does not use the stream, whose buffer is lost in process.exit(),
 * nor fs.write(), whose thread would delay the exit as long as the reader is blocked.
 */
export class BoundedOutput {
  readonly #fd: number
  readonly #onDropped: (count: number) => void
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined

  /** `onDropped` is called once the buffer has been written, with the number of lines that were dropped. */
  constructor(stdout: StandardOutput, onDropped: (count: number) => void) {
    this.#fd = nonBlocking(stdout)
    this.#onDropped = onDropped
  }

  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#waiting.length > 0 && this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#dropped++
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (!this.#timer) this.#drain()
  }

  /** Waits for the reader, at most `limitMs`. For the end of the process: it blocks the event loop. */
  flush(limitMs: number): void {
    const sleep = new Int32Array(new SharedArrayBuffer(4))
    const giveUpAt = performance.now() + limitMs
    this.#drain()
    while (this.#waiting.length > 0 && performance.now() < giveUpAt) {
      Atomics.wait(sleep, 0, 0, RETRY_MS)
      this.#drain()
    }
  }

  #drain(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      while (this.#waiting.length > 0) this.#writeFirst()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return this.#drop()
      this.#timer = setTimeout(() => this.#drain(), RETRY_MS).unref()
      return
    }
    const dropped = this.#dropped
    this.#dropped = 0
    if (dropped > 0) this.#onDropped(dropped)
  }

  /** Line by line: a write of up to 4 KiB to a pipe is atomic (PIPE_BUF), and others may write there too. */
  #writeFirst(): void {
    const [first] = this.#waiting
    const written = writeSync(this.#fd, first!)
    this.#waitingBytes -= written
    if (written < first!.length) this.#waiting[0] = first!.subarray(written)
    else this.#waiting.shift()
  }

  /** The reader has closed the pipe, or the disk is full. Callbacks must still be handled. */
  #drop(): void {
    this.#dropped += this.#waiting.length
    this.#waiting = []
    this.#waitingBytes = 0
  }
}

/** Node makes a pipe non-blocking when `process.stdout` is first used, but not a terminal, which Ctrl+S blocks. */
function nonBlocking({ fd, _handle: handle }: StandardOutput): number {
  handle?.setBlocking?.(false)
  return handle?.fd ?? fd
}
