/**
 * The first version without the race when a log is reset (https://sqlite.org/wal.html#walresetbug). It also has
 * `wal_checkpoint(NOOP)`.
 */
export const SAFE_SQLITE = '3.51.3'

/** Whether a SQLite has at least that version. */
export function isSafeSqlite(version: string): boolean {
  const [given, safe] = [version, SAFE_SQLITE].map((each) => each.split('.').map(Number)) as [
    number[],
    number[],
  ]
  const differing = safe.findIndex((part, index) => part !== given[index])
  return differing === -1 || given[differing]! > safe[differing]!
}
