import { isLoopback } from '../base/loopback.js'
import { invalidOption } from '../base/option-checks.js'
import { parseUrl } from '../base/parse-url.js'
import type { RawTarget } from '../testing/raw-request.js'

/**
 * Where deliveries connect to: an origin such as `http://127.0.0.1:3000`, or a function that returns one for each
 * delivery.
 */
export type DeliverTo = string | (() => string)

/**
 * The address to connect to for a callback of this URL.
 * @throws CountersignError ERR_OPTION_INVALID if it is not on this machine; whatever a `deliverTo` function throws
 */
export function targetOf(deliverTo: DeliverTo | undefined, callbackUrl: string): RawTarget {
  if (deliverTo !== undefined)
    return deliveryTarget('deliver', typeof deliverTo === 'function' ? deliverTo() : deliverTo)
  const target = loopbackTarget(new URL(callbackUrl))
  if (target) return target
  const cure =
    'say with deliverTo where the receiver listens, such as "http://127.0.0.1:3000"; without it the simulator connects ' +
    'only to a callbackUrl of this machine over http'
  throw invalidOption('deliver', 'deliverTo', undefined, cure)
}

/**
 * The address of an origin. Loopback only: the simulator sends forged and malformed requests, and a typing error in
 * a test must not send them to another machine.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function deliveryTarget(owner: string, deliverTo: unknown): RawTarget {
  const url = typeof deliverTo === 'string' ? parseUrl(deliverTo) : undefined
  if (url && url.pathname === '/' && url.search === '' && url.hash === '') {
    const target = loopbackTarget(url)
    if (target) return target
  }
  const cure =
    'use a loopback origin over http, such as "http://127.0.0.1:3000"; the simulator connects to no other machine'
  // Any other text may be a secret whose beginning parses as a scheme.
  const shown = url && /^https?:$/.test(url.protocol) ? JSON.stringify(url.origin) : undefined
  throw invalidOption(owner, 'deliverTo', deliverTo, cure, shown)
}

/** The address of an http URL of this machine; undefined for any other URL. */
export function loopbackTarget({ protocol, username, password, hostname, port }: URL): RawTarget | undefined {
  if (protocol !== 'http:' || username !== '' || password !== '' || !isLoopback(hostname)) return undefined
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) }
}
