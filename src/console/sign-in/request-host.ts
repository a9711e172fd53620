import type { IncomingMessage } from 'node:http'
import { isLoopback } from '../../base/loopback.js'
import { parseUrl } from '../../base/parse-url.js'

/**
 * Whether the Host header names this machine or one of the configured hosts. A page of another site can reach a loopback address
 * under a name of its own, which it makes resolve to that address (DNS rebinding).
 */
export function isKnownHost({ headers }: IncomingMessage, hosts: readonly string[]): boolean {
  const hostname = headers.host === undefined ? undefined : parseUrl(`http://${headers.host}`)?.hostname
  return hostname !== undefined && (isLoopback(hostname) || hosts.includes(hostname))
}
