/**
 * Path and query of a request target. A sender or a proxy may write the whole URL, and servers must accept that (RFC 9112, section
 * 3.2.2). Any other target is returned as it is.
 */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const absolute = /^https?:\/\/[^/?]*(.*)$/is.exec(target)
  if (!absolute) return target
  const pathAndQuery = absolute[1]!
  return pathAndQuery.startsWith('/') ? pathAndQuery : `/${pathAndQuery}`
}
