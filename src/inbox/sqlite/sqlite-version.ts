import type { Logger } from '../../logging/logger.js'

/**
 * The first version without the race when a log is reset (https://sqlite.org/wal.html#walresetbug). It also has
 * `wal_checkpoint(NOOP)`.
 */
const SAFE_SQLITE = '3.51.3'

export function warnOfOldSqlite(version: string, logger: Logger): void {
  if (isSafeSqlite(version)) return
  const message =
    `SQLite before ${SAFE_SQLITE} may damage a file that several processes write: update Node, or let one ` +
    'process alone use the inbox'
  logger.warn({ code: 'WARN_SQLITE_OLD', version }, message)
}

/** Whether a SQLite has at least that version. */
export function isSafeSqlite(version: string): boolean {
  const [given, safe] = [version, SAFE_SQLITE].map((each) => each.split('.').map(Number)) as [
    number[],
    number[],
  ]
  const differing = safe.findIndex((part, index) => part !== given[index])
  return differing === -1 || given[differing]! > safe[differing]!
}
