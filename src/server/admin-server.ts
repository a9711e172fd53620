import type { RequestListener } from 'node:http'
import { checkKnownOptions, integerOption, invalidOption } from '../base/option-checks.js'
import { bearerTokenCheck, bearerTokenProblem } from './bearer-token.js'
import { healthChecks, pathOf } from './health-checks.js'
import { startSmallServer, type SmallServer } from './small-server.js'

export interface AdminServerOptions {
  /** The address to listen on. Whoever reaches it can read the metrics, unless there is a token. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** The port to listen on; 0 takes a free one. From 0 to 65,535. */
  readonly port: number
  /** `/metrics` is answered 401 without `Authorization: Bearer` and this token, of 16 to 1,000 characters. @default none */
  readonly metricsToken?: string | undefined
}

export interface AdminSettings {
  readonly host: string
  readonly port: number
  readonly metricsToken: string | undefined
}

/** What `/metrics` answers. */
export interface Exposition {
  readonly contentType: string
  text(): Promise<string>
}

const OPTION = { option: 'admin', part: 'admin' }

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseAdminOptions(owner: string, options: AdminServerOptions): AdminSettings {
  checkKnownOptions(owner, options, ['host', 'port', 'metricsToken'], OPTION)
  const { host = '127.0.0.1', port, metricsToken } = options
  if (typeof host !== 'string' || host === '') {
    const cure = 'use a host name or address, such as "127.0.0.1"'
    throw invalidOption(owner, { option: 'admin', part: 'admin: host' }, host, cure)
  }
  const problem = metricsToken === undefined ? undefined : bearerTokenProblem(metricsToken)
  if (problem !== undefined) {
    const cure =
      'use 16 to 1,000 letters, digits and - . _ ~ + /, such as the output of "openssl rand -hex 32"'
    throw invalidOption(owner, { option: 'admin', part: 'admin: metricsToken' }, undefined, cure, problem)
  }
  return {
    host,
    port: integerOption(owner, 'admin: port', port, { fallback: -1, min: 0, max: 65_535 }),
    metricsToken,
  }
}

/**
 * `/metrics`, `/healthz` and `/readyz`, on an address that callbacks do not reach. All other requests are answered 404.
 * @throws CountersignError ERR_LISTEN_FAILED
 */
export function startAdminServer(
  isReady: () => boolean,
  metrics: Exposition,
  { host, port, metricsToken }: AdminSettings,
  owner: string,
): Promise<SmallServer> {
  const isAllowed = metricsToken === undefined ? () => true : bearerTokenCheck(metricsToken)
  return startSmallServer(healthChecks(isReady, metricsListener(metrics, isAllowed)), host, port, owner)
}

function metricsListener(
  metrics: Exposition,
  isAllowed: (authorization: string | undefined) => boolean,
): RequestListener {
  return (request, response) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (!isRead || pathOf(request.url) !== '/metrics') {
      response.writeHead(404, { 'Content-Length': 0 }).end()
      return
    }
    // Before the metrics are read, which asks the inbox.
    if (!isAllowed(request.headers.authorization)) {
      response.writeHead(401, { 'WWW-Authenticate': 'Bearer', 'Content-Length': 0 }).end()
      return
    }
    metrics.text().then(
      (text) => {
        const body = Buffer.from(text)
        const headers = { 'Content-Type': metrics.contentType, 'Content-Length': body.length }
        response.writeHead(200, headers).end(body)
      },
      () => response.writeHead(500, { 'Content-Length': 0 }).end(),
    )
  }
}
