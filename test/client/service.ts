import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createClient, type Client, type ClientOptions } from '../../src/client/index.js'

export const CLIENT_ID = '8f14e45f-ceea-467f-a8d2-3c1b6f4d9a10'
export const CLIENT_SECRET = 'Zq7~Client_Secret-0123456789.abcdefXYZ'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly socket: Socket
}

/** `count` counts from 1 the requests to this endpoint. */
export type Answer = (response: ServerResponse, request: Received, count: number) => unknown

export interface Service {
  readonly baseUrl: string
  readonly tokenRequests: Received[]
  readonly apiRequests: Received[]
  /** Tokens that were handed out, by the default answer. */
  readonly tokens: string[]
  readonly credentials: { readonly clientId: string; readonly clientSecret: string }
}

const endings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

/** A service of the test's own making: a token for everybody, and 200 with `{}` for all else, unless told otherwise. */
export async function startService({ token, api }: { token?: Answer; api?: Answer } = {}): Promise<Service> {
  const tokenRequests: Received[] = []
  const apiRequests: Received[] = []
  const tokens: string[] = []
  const giveToken: Answer = (response, _request, count) => {
    tokens.push(`token-${count}-tell-nobody`)
    json(response, 200, tokenBody(tokens.at(-1)!))
  }
  const server = createServer((request, response) => {
    void receive(request).then((received) => {
      const isToken = received.path.endsWith('/security/v1/oauth2/token')
      const requests = isToken ? tokenRequests : apiRequests
      requests.push(received)
      const answer = isToken ? (token ?? giveToken) : (api ?? ((response) => json(response, 200, {})))
      answer(response, received, requests.length)
    })
  })
  // Announced to the client: a connection that is closed sooner was closed on purpose.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  endings.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    baseUrl,
    tokenRequests,
    apiRequests,
    tokens,
    credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
  }
}

/** A client of this service, closed after the test, that repeats without delay. */
export function clientOf({ baseUrl }: Service, options: Partial<ClientOptions> = {}): Client {
  const client = createClient({
    baseUrl,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    retryDelayMs: 1,
    ...options,
  })
  endings.unshift(() => client.close())
  return client
}

export function tokenBody(accessToken: string, expiresIn: unknown = 3600) {
  return { access_token: accessToken, token_type: 'Bearer', expires_in: expiresIn }
}

export function json(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export async function rejection(promise: Promise<unknown>): Promise<any> {
  return promise.then(
    () => {
      throw new Error('it did not reject')
    },
    (error: unknown) => error,
  )
}

async function receive(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { method = '', url = '', headers, socket } = request
  return { method, path: url, headers, body: Buffer.concat(chunks).toString(), socket }
}
