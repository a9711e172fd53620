import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Ran, Sandbox } from './program.js'

export const CLIENT_ID = '3f1f6f1e-58c5-4a5c-9d3e-0a3c0a3c0a3c'
export const CLIENT_SECRET = 'client~Secret_of.the-tests-0123456789'
export const TOKEN = 'access-token.of.the.tests-0123456789'

export interface ServiceRequest {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface ServiceAnswer {
  readonly status: number
  readonly body?: string
}

export interface FakeService {
  /** The environment in which the commands find it. */
  readonly env: Record<string, string>
  readonly requests: ServiceRequest[]
  /** What comes after the token. */
  readonly calls: () => ServiceRequest[]
}

const TOKEN_ANSWER = {
  status: 200,
  body: JSON.stringify({ access_token: TOKEN, token_type: 'Bearer', expires_in: 3600 }),
}

/** The service, as far as its interface is shown, with these answers to what is not; `hang` never comes to an answer. */
export async function startFakeService(
  sandbox: Sandbox,
  answer: (request: ServiceRequest) => ServiceAnswer | 'hang' = () => ({ status: 201, body: '{"id":"one"}' }),
  tokenAnswer: ServiceAnswer = TOKEN_ANSWER,
): Promise<FakeService> {
  const requests: ServiceRequest[] = []
  const server = createServer(async (incoming, response) => {
    const { method, url: path, headers } = incoming
    const request = { method, path, headers, body: await text(incoming) }
    requests.push(request)
    const answered = path === '/security/v1/oauth2/token' ? tokenAnswer : answer(request)
    if (answered === 'hang') return
    response.writeHead(answered.status, { 'Content-Type': 'application/json' }).end(answered.body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  sandbox.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    env: {
      COUNTERSIGN_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      COUNTERSIGN_CLIENT_ID: CLIENT_ID,
      COUNTERSIGN_CLIENT_SECRET: CLIENT_SECRET,
    },
    requests,
    calls: () => requests.filter(({ path }) => path !== '/security/v1/oauth2/token'),
  }
}

/** Everything that a command wrote, when none of the secrets is in it, in no spelling. */
export function withoutSecrets({ stdout, stderr }: Ran, ...secrets: string[]): string {
  const output = stdout + stderr
  for (const secret of [CLIENT_SECRET, TOKEN, ...secrets]) {
    const spellings = [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)]
    spellings.push(new URLSearchParams({ secret }).toString().slice('secret='.length))
    for (const spelling of spellings) expect(output).not.toContain(spelling)
  }
  return output
}

/** What an answer of the service could do to a terminal, and to whoever reads it. */
export const HOSTILE = '\u001b[2J\u0007\u009b31m\u202egnp\r\nfake line\u2028'
// The line ends that the commands write themselves are the only ones of these.
const RAW = /[^\n\P{C}]|[\p{Zl}\p{Zp}]/u

export function expectHarmless({ stdout, stderr }: Ran): void {
  expect(stdout).not.toMatch(RAW)
  expect(stderr).not.toMatch(RAW)
  expect(stdout + stderr).not.toMatch(/^fake line/m)
}
