import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkKnownOptions, integerOption, invalidOption } from '../base/option-checks.js'
import { Connections } from './connections.js'
import { healthChecks } from './health-checks.js'
import { listen } from '../base/listen.js'

export interface HealthServerOptions {
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0 takes any free one. @default none: health checks are not served */
  readonly healthPort?: number | undefined
}

export interface HealthServer {
  readonly address: AddressInfo
  /** Closes every connection. Safe to call twice. */
  close(): void
}

const OWNER = 'work'
/** Probes send a few bytes, and one connection each. */
const REQUEST_LIMIT_MS = 5_000
const MAX_CONNECTIONS = 100

export function parseHealthServerOptions(options: HealthServerOptions) {
  checkKnownOptions(OWNER, options, ['host', 'healthPort'])
  const { host = '127.0.0.1', healthPort } = options
  if (typeof host !== 'string' || host === '')
    throw invalidOption(OWNER, 'host', host, 'use a host name or address, such as "127.0.0.1"')
  const port =
    healthPort === undefined
      ? undefined
      : integerOption(OWNER, 'healthPort', healthPort, { fallback: 0, min: 0, max: 65_535 })
  return { host, port }
}

/**
 * `/healthz` and `/readyz` of a process that accepts no callbacks. All other requests are answered 404.
 * @throws CountersignError ERR_LISTEN_FAILED
 */
export async function startHealthServer(
  isReady: () => boolean,
  host: string,
  port: number,
): Promise<HealthServer> {
  const server = createServer({
    headersTimeout: REQUEST_LIMIT_MS,
    requestTimeout: REQUEST_LIMIT_MS,
    keepAliveTimeout: REQUEST_LIMIT_MS,
    connectionsCheckingInterval: 1_000,
  })
  const connections = new Connections(server, MAX_CONNECTIONS)
  const listener = healthChecks(isReady, (_request, response) => {
    response.writeHead(404, { 'Content-Length': 0 }).end()
  })
  server.on('request', (request, response) => {
    connections.begun(request, response)
    listener(request, response)
  })
  await listen(server, { host, port }, OWNER)
  return {
    address: server.address() as AddressInfo,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
