import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Sandbox } from './program.js'

/** Lets a handler in another process wait until the test says go: the handler fetches `url`. */
export interface Gate {
  readonly url: string
  /** Resolves once somebody waits. */
  readonly reached: Promise<void>
  open(): void
}

export async function createGate(sandbox: Sandbox): Promise<Gate> {
  const waiting: ServerResponse[] = []
  const server = createServer((_request, response) => void waiting.push(response)).listen(0, '127.0.0.1')
  const reached = once(server, 'request').then(() => undefined)
  await once(server, 'listening')
  sandbox.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reached,
    open: () => waiting.forEach((response) => response.end()),
  }
}
