import { logLine } from './console-logger.js'
import type { Logger } from './logger.js'

/** How much may wait for the reader of standard error, in bytes. Node writes to a pipe without blocking and keeps the rest. */
const MAX_WAITING_BYTES = 65_536

/** Where no logger was given: warnings and errors go to standard error, one line each. */
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
    // A reader that stands still must cost neither time nor memory.
    if (process.stderr.writableLength > MAX_WAITING_BYTES) {
      this.#dropped++
      return
    }
    if (this.#dropped > 0) {
      const notice = { code: 'WARN_LOG_LINES_DROPPED', dropped: this.#dropped }
      this.#dropped = 0
      put(logLine(notice, 'lines of the log were dropped, as nobody read standard error'))
    }
    put(logLine(fields, message))
  }
}

function put(line: string): void {
  const { stderr } = process
  stderr.write(`${line}\n`, (error) => {
    // The reader is gone. Without a listener its error would end the process; console does the same.
    if (error && stderr.listenerCount('error') === 0) stderr.once('error', () => {})
  })
}
