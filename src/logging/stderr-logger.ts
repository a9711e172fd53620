import { logLine } from './console-logger.js'
import type { Logger } from './logger.js'

/** The size of the buffer for standard error, in bytes. Node writes to a pipe without blocking and buffers the rest. */
const MAX_WAITING_BYTES = 65_536

/** The default logger: warnings and errors go to standard error, one line each. */
export class StderrLogger implements Logger {
  #dropped = 0

  debug(): void {}
  info(): void {}

  warn(fields: object, message: string): void {
    this.#write(fields, message)
  }

  error(fields: object, message: string): void {
    this.#write(fields, message)
  }

  #write(fields: object, message: string): void {
    // A slow reader must cost neither time nor memory.
    if (process.stderr.writableLength > MAX_WAITING_BYTES) {
      this.#dropped++
      return
    }
    if (this.#dropped > 0) {
      const notice = { code: 'WARN_LOG_LINES_DROPPED', dropped: this.#dropped }
      this.#dropped = 0
      put(logLine(notice, 'log lines were dropped, because the reader of standard error is too slow'))
    }
    put(logLine(fields, message))
  }
}

function put(line: string): void {
  const { stderr } = process
  stderr.write(`${line}\n`, (error) => {
    // The pipe is closed. Without a listener the error event would end the process. console does the same.
    if (error && stderr.listenerCount('error') === 0) stderr.once('error', () => {})
  })
}
