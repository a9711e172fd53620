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
  readonly headers?: Record<string, string>
}

const TOKEN_PATH = '/security/v1/oauth2/token'

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

/** The service, as far as its interface is shown, with these answers to what is not; `hang` never comes to an answer, `cut` ends the connection. */
export async function startFakeService(
  sandbox: Sandbox,
  answer: (request: ServiceRequest, count: number) => ServiceAnswer | 'hang' | 'cut' = () => ({
    status: 201,
    body: '{"id":"one"}',
  }),
  tokenAnswer: ServiceAnswer | ((count: number) => ServiceAnswer | 'hang') = TOKEN_ANSWER,
): Promise<FakeService> {
  const requests: ServiceRequest[] = []
  const server = createServer(async (incoming, response) => {
    const { method, url: path, headers } = incoming
    const request = { method, path, headers, body: await text(incoming) }
    requests.push(request)
    const isToken = path === TOKEN_PATH
    const count = requests.filter((each) => (each.path === TOKEN_PATH) === isToken).length
    const forToken = typeof tokenAnswer === 'function' ? tokenAnswer : () => tokenAnswer
    const answered = isToken ? forToken(count) : answer(request, count)
    if (answered === 'hang') return
    if (answered === 'cut') return void incoming.socket.destroy()
    response
      .writeHead(answered.status, { 'Content-Type': 'application/json', ...answered.headers })
      .end(answered.body)
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
    calls: () => requests.filter(({ path }) => path !== TOKEN_PATH),
  }
}

/** Everything that a command wrote, when none of the secrets is in it, in no spelling. */
export function withoutSecrets({ stdout, stderr }: Ran, ...secrets: string[]): string {
  const output = stdout + stderr
  for (const secret of [CLIENT_SECRET, TOKEN, ...secrets]) {
    for (const spelling of spellingsOf(secret)) {
      expect(output.toLowerCase()).not.toContain(spelling.toLowerCase())
    }
  }
  return output
}

/** Ways in which a service, or what is on the way to it, may repeat a secret. */
export function spellingsOf(secret: string): string[] {
  const cases = [secret, secret.toUpperCase(), secret.toLowerCase()]
  return [
    ...cases,
    ...cases.map((each) => Buffer.from(each).toString('base64')),
    ...cases.map((each) => Buffer.from(each).toString('base64url')),
    ...cases.map((each) => Buffer.from(`id:${each}`).toString('base64')),
    ...cases.map((each) => Buffer.from(each).toString('hex')),
    ...cases.map((each) =>
      Buffer.from(each)
        .toString('hex')
        .replaceAll(/../g, (digits) => `%${digits}`),
    ),
    JSON.stringify(JSON.stringify(secret)),
    encodeURIComponent(secret),
    new URLSearchParams({ secret }).toString().slice('secret='.length),
  ]
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
