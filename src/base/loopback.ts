import { isIPv6 } from 'node:net'

/** Whether only this machine can reach a host name or an IP address that a server listens on. */
export function isLoopbackAddress(host: string): boolean {
  return isLoopback(isIPv6(host) ? `[${host}]` : host)
}

/**
 * Whether a host is this machine, by the `hostname` of a URL: the URL parser converts every spelling of an IPv4
 * address to four decimal numbers. A DNS name may resolve to any address, except localhost (RFC 6761, section 6.3).
 */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}
