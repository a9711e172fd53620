import type { IncomingMessage } from 'node:http'
import { parseUrl } from '../base/parse-url.js'

/**
 * Whether a page of the same origin sent the form. Browsers send `Sec-Fetch-Site` with every request to an https address or to
 * this machine, and `Origin` with every POST. A request with neither header does not come from a browser, so it is refused.
 */
export function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = headers
  return origin !== undefined && host !== undefined && parseUrl(origin)?.host === host.toLowerCase()
}

/** What the answer to a form from another origin says. */
export const OTHER_ORIGIN =
  'The form was sent by a page of another origin. If there is a proxy in front, it must pass on the Host header.'
