import type { Logger } from '../../logging/logger.js'
import type { Connection } from './connection.js'

/** SQLite cuts the log to this size when it begins anew (`journal_size_limit`). A larger log has not begun anew. */
const LARGE_BYTES = 67_108_864
const EVERY_MS = 60_000

/**
 * Returns a function that warns of a log that grows without end because another program reads all the time
 * (https://sqlite.org/wal.html, section 6).
 */
export function watchLog(file: string, logger: Logger): (connection: Connection) => void {
  let lookedAt = -Infinity
  let lastBytes = Infinity
  return (connection) => {
    if (connection.logBytes <= LARGE_BYTES) {
      lastBytes = Infinity
      return
    }
    const now = performance.now()
    if (now - lookedAt < EVERY_MS) return
    const { logBytes, heldBytes } = connection.uncopied()
    if (logBytes <= LARGE_BYTES) return
    lookedAt = now
    // A log that was copied completely does not begin anew either while another program reads it.
    const grows = logBytes > lastBytes
    lastBytes = logBytes
    if (heldBytes === 0 && !grows) return
    const message =
      `the log beside the inbox (${file}-wal) has grown to ${Math.round(logBytes / 1_048_576)} MiB, as another ` +
      'program keeps reading the file: look for a shell, a backup or a report with an open transaction, and end it'
    logger.warn({ code: 'WARN_INBOX_LOG_LARGE', file, logBytes }, message)
  }
}
