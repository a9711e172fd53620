import { writeSync } from 'node:fs'

/** How much may wait for the reader, in bytes. */
const MAX_WAITING_BYTES = 1_048_576
/** How often a reader that stands still is tried again, in milliseconds. */
const RETRY_MS = 20

interface StandardOutput {
  readonly fd: number
  readonly _handle?: { readonly fd?: number; readonly setBlocking?: (blocking: boolean) => number } | null
}

/**
 * Lines for standard output that never wait for its reader: what it has not taken is kept, up to a limit, and then dropped
 * and counted. Not by the stream, whose waiting bytes are lost in process.exit(), nor by fs.write(), whose thread would
 * hold up the exit as long as the reader stands still.
 */
export class BoundedOutput {
  readonly #fd: number
  readonly #onDropped: (count: number) => void
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined

  /** `onDropped` is called once all that waited has been written, with the number of lines that were not kept. */
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

  /** Waits for the reader, at most so long. For the end of the process: nothing else is done meanwhile. */
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

  /** The reader is gone, or the disk is full: neither is a reason to stop handling callbacks. */
  #drop(): void {
    this.#dropped += this.#waiting.length
    this.#waiting = []
    this.#waitingBytes = 0
  }
}

/** Node makes a pipe non-blocking when `process.stdout` is first used, but not a terminal, which Ctrl+S stops. */
function nonBlocking({ fd, _handle: handle }: StandardOutput): number {
  handle?.setBlocking?.(false)
  return handle?.fd ?? fd
}
