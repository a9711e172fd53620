import type { IncomingMessage } from 'node:http'
import { isLoopback } from '../../base/loopback.js'
import { parseUrl } from '../../base/parse-url.js'

/**
 * Whether the Host header names this machine or one of the configured hosts. This prevents DNS rebinding: another site can make
 * its own host name resolve to a loopback address, and its pages can then read the console in the browser of an operator.
 */
export function isKnownHost({ headers }: IncomingMessage, hosts: readonly string[]): boolean {
  const hostname = headers.host === undefined ? undefined : parseUrl(`http://${headers.host}`)?.hostname
  return hostname !== undefined && (isLoopback(hostname) || hosts.includes(hostname))
}
