import { readFileSync } from 'node:fs'

/**
 * Ends a PostgreSQL server with all its processes at one moment, as a crash does. `pid` is that of its first process, which is
 * held first: it must not react to the end of the others, nor they to its own.
 */
export function killPostgres(pid: number): void {
  signal(pid, 'SIGSTOP')
  for (const each of [...childrenOf(pid), pid]) signal(each, 'SIGKILL')
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended by itself.
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
