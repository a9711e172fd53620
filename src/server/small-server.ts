import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Connections } from './connections.js'
import { listen } from '../base/listen.js'

export interface SmallServer {
  readonly address: AddressInfo
  /** Closes every connection. Safe to call twice. */
  close(): void
}

/** Probes and scrapes send a few bytes, and a browser the form of a console. */
const REQUEST_LIMIT_MS = 5_000
const MAX_CONNECTIONS = 100

/**
 * A server for small requests, of the programs and the browser of an operator.
 * @throws CountersignError ERR_LISTEN_FAILED
 */
export async function startSmallServer(
  listener: RequestListener,
  host: string,
  port: number,
  owner: string,
): Promise<SmallServer> {
  const limits = { max: MAX_CONNECTIONS, readTimeoutMs: REQUEST_LIMIT_MS }
  const { server } = new Connections(limits, {
    headersTimeout: REQUEST_LIMIT_MS,
    requestTimeout: REQUEST_LIMIT_MS,
    keepAliveTimeout: REQUEST_LIMIT_MS,
    connectionsCheckingInterval: 1_000,
  })
  server.on('request', listener)
  await listen(server, { host, port }, owner)
  return {
    address: server.address() as AddressInfo,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
