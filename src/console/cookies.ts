import type { IncomingMessage } from 'node:http'

/** The value of a cookie that the console has set: 43 characters of `randomSecret`. */
export function secretInCookie({ headers }: IncomingMessage, name: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [key, value = ''] = pair.split('=', 2)
    if (key!.trim() === name && /^[\w-]{43}$/.test(value.trim())) return value.trim()
  }
  return undefined
}

/**
 * A cookie that scripts cannot read, and that the browser does not send with forms of other sites. Not `SameSite=Strict`: the browser
 * would not send it when a link in a chat leads to the console. The operator would have to sign in again, and the new cookie would make
 * the forms of open pages invalid.
 */
export function cookieHeader(
  request: IncomingMessage,
  name: string,
  value: string,
  maxAgeS?: number,
): string {
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax']
  if (maxAgeS !== undefined) parts.push(`Max-Age=${maxAgeS}`)
  if (isHttps(request)) parts.push('Secure')
  return parts.join('; ')
}

/**
 * X-Forwarded-Proto is trusted without a check. A client that forges it only makes its own cookie `Secure`, and its browser then
 * does not send this cookie over http.
 */
function isHttps({ socket, headers }: IncomingMessage): boolean {
  // Each proxy may add its own protocol; the first is that of the browser.
  return 'encrypted' in socket || /^https(?: *,|$)/i.test(String(headers['x-forwarded-proto']))
}
