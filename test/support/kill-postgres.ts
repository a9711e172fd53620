import { readFileSync } from 'node:fs'

/**
 * Ends a PostgreSQL server with all its processes at one moment, as a crash does: a process that was left would finish the
 * statement that it runs. `pid` is that of its first process.
 */
export function killPostgres(pid: number): void {
  for (const each of [pid, ...childrenOf(pid)]) {
    try {
      process.kill(each, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
