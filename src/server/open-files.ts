import { readFileSync } from 'node:fs'

/** Descriptors that are kept free for the inbox, the capture folder, databases, the admin address and the files of handlers. */
const LEAST_RESERVE = 64
const RESERVED_SHARE = 1 / 8

/**
 * How many connections a process may have that may open so many files. Without a free descriptor, Node closes new connections
 * without an event, and the inbox cannot be opened again.
 */
export function maxConnectionsOf(openFiles: number): number {
  return Math.max(1, openFiles - Math.max(LEAST_RESERVE, Math.ceil(openFiles * RESERVED_SHARE)))
}

/** How many files this process may open (RLIMIT_NOFILE). Undefined if there is no limit, or the system does not say it. */
export function openFilesLimit(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}
