import type { Logger } from '../../logging/logger.js'
import { maxConnectionsOf, openFilesLimit } from '../../server/open-files.js'
import type { ServerSettings } from '../../server/server.js'

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
