import type { Logger } from '../../logging/logger.js'
import type { Connection } from './connection.js'

/** The size that the log is cut back to when it begins anew (`journal_size_limit`): beyond it, it did not. */
const LARGE_BYTES = 67_108_864
const EVERY_MS = 60_000

/** Warns of a log that grows without end because somebody reads all the time (https://sqlite.org/wal.html, section 6). */
export class LogWatch {
  readonly #file: string
  readonly #logger: Logger
  #lookedAt = -Infinity
  #lastBytes = Infinity

  constructor(file: string, logger: Logger) {
    this.#file = file
    this.#logger = logger
  }

  look(connection: Connection): void {
    if (connection.logBytes <= LARGE_BYTES) {
      this.#lastBytes = Infinity
      return
    }
    const now = performance.now()
    if (now - this.#lookedAt < EVERY_MS) return
    this.#lookedAt = now
    const { logBytes, heldBytes } = connection.checkpoint()
    // Even a log that was taken over in full does not begin anew while there is always somebody who reads it.
    const grows = logBytes > this.#lastBytes
    this.#lastBytes = logBytes
    if (heldBytes === 0 && !grows) return
    const message =
      `the log beside the inbox (${this.#file}-wal) has grown to ${Math.round(logBytes / 1_048_576)} MiB, as another ` +
      'program keeps reading the file: look for a shell, a backup or a report with an open transaction, and end it'
    this.#logger.warn({ code: 'WARN_INBOX_LOG_LARGE', file: this.#file, logBytes }, message)
  }
}
