import { readdirSync, readFileSync } from 'node:fs'

/**
 * The processor time of a PostgreSQL server in seconds: of its first process and of all that this has started and that still
 * run. Undefined where there is no /proc.
 */
export function serverTime(pid) {
  try {
    const started = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    return [pid, ...started].reduce((sum, each) => sum + timeOf(each), 0)
  } catch {
    return undefined
  }
}

/** Undefined if the process has ended. */
function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program is in parentheses, and may contain spaces.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

function timeOf(pid) {
  const [nanoseconds] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
  return Number(nanoseconds) / 1e9
}
