import type { IncomingMessage } from 'node:http'
import { isLoopback } from './loopback.js'
import { invalidOption, type OptionPart } from './option-checks.js'
import { parseUrl } from './parse-url.js'

/** An option that lists host names. @throws CountersignError ERR_OPTION_INVALID */
export function hostsOption(owner: string, place: OptionPart, hosts: unknown): readonly string[] {
  const isHost = (host: unknown) => typeof host === 'string' && /^[a-z0-9.-]{1,253}$/.test(host)
  if (Array.isArray(hosts) && hosts.every(isHost)) return hosts as readonly string[]
  const cure = 'use a list of host names in lower case, without a port'
  throw invalidOption(owner, place, hosts, cure)
}

/**
 * Whether the Host header names this machine, the address that the connection came to, or one of the configured hosts. This
 * prevents DNS rebinding: another site can make its own host name resolve to an address of this machine, and its pages can then
 * read the answers in the browser of an operator.
 */
export function isKnownHost({ headers, socket }: IncomingMessage, hosts: readonly string[]): boolean {
  const hostname = hostnameIn(headers.host)
  if (hostname === undefined) return false
  return isLoopback(hostname) || hosts.includes(hostname) || hostname === hostOf(socket.localAddress)
}

/** Without the port. Undefined for an invalid header: a URL parser would take what follows `@` or precedes `/` for the host. */
function hostnameIn(header: string | undefined): string | undefined {
  if (header === undefined || /[@/\\?#]/.test(header)) return undefined
  return parseUrl(`http://${header}`)?.hostname
}

/** An IP address as the host of a URL. A socket that listens on `::` reports IPv4 addresses as `::ffff:10.0.0.5`. */
function hostOf(address = ''): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
  return plain.includes(':') ? `[${plain}]` : plain
}
