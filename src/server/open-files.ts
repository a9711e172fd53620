import { readFileSync } from 'node:fs'
import type { Logger } from '../logging/logger.js'
import type { ServerSettings } from './server.js'

/** Descriptors that are kept free for the inbox, the capture folder, databases, the admin address and the files of handlers. */
const LEAST_RESERVE = 64
const RESERVED_SHARE = 1 / 8

/**
 * How many connections a process may have that may open so many files. Without a free descriptor, Node closes new connections
 * without an event, and the inbox cannot be opened again.
 */
function maxConnectionsOf(openFiles: number): number {
  return Math.max(1, openFiles - Math.max(LEAST_RESERVE, Math.ceil(openFiles * RESERVED_SHARE)))
}

/** How many files this process may open (RLIMIT_NOFILE). Undefined if there is no limit, or the system does not say it. */
function openFilesLimit(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/** The settings with at most as many connections as the limit of open files allows. */
export function withinOpenFiles(server: ServerSettings, log: Logger): ServerSettings {
  const { maxConnections } = server
  const openFiles = openFilesLimit()
  if (openFiles === undefined || maxConnections <= maxConnectionsOf(openFiles)) return server
  const used = maxConnectionsOf(openFiles)
  const message =
    `maxConnections is ${maxConnections}, and this process may open ${openFiles} files: it accepts ${used} connections ` +
    'at the same time. Raise the limit (LimitNOFILE in systemd, ulimit -n), or lower maxConnections'
  log.warn({ code: 'WARN_FEW_OPEN_FILES', maxConnections: used, openFiles }, message)
  return { ...server, maxConnections: used }
}
