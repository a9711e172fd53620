import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { clientOf, rejection, startService } from './service.js'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n'
const closings: (() => void)[] = []
afterEach(() => closings.splice(0).forEach((close) => close()))

const answer = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const TOKEN = answer('{"access_token":"t","token_type":"Bearer","expires_in":3600}')

/** Answers each request with the pieces that `pieces` makes of the answer, each written by itself. */
async function rawService(pieces: (answer: string) => readonly string[], body = '{"a":1}') {
  const sockets = new Set<Socket>()
  let requests = 0
  const server = createServer((socket) => {
    sockets.add(socket.setNoDelay(true))
    let received = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const [head, sent] = received.split('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(head!)?.[1])
      if (sent === undefined || sent.length < length) return
      received = ''
      requests++
      void write(socket, pieces(head!.includes('/token') ? TOKEN : answer(body)))
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  closings.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { baseUrl, requests: () => requests, connections: () => sockets.size }
}

async function write(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe.each<[string, (answer: string) => readonly string[]]>([
  ['an unasked 100 Continue', (answer) => [CONTINUE, answer]],
  ['a 100 Continue in one piece with the answer', (answer) => [CONTINUE + answer]],
  ['a 100 Continue in pieces of one byte', (answer) => Array.from(CONTINUE + answer)],
  ['a 100 Continue without a reason phrase', (answer) => ['HTTP/1.1 100 \r\n\r\n', answer]],
  ['a 100 Continue with a header', (answer) => ['HTTP/1.1 100 Continue\r\nDate: now\r\n\r\n', answer]],
  [
    'several interim responses',
    (answer) => [HINTS + CONTINUE, `HTTP/1.1 102 Processing\r\n\r\n${CONTINUE}`, answer],
  ],
  ['103 Early Hints', (answer) => [HINTS, answer]],
  ['an answer in pieces of one byte', (answer) => Array.from(answer)],
])('%s', (_what, pieces) => {
  it('does not fail a call', async () => {
    const service = await rawService(pieces)
    const client = clientOf({ ...(await startService()), ...service }, { maxAttempts: 1 })
    for (let call = 0; call < 3; call++) {
      expect(await client.accounts.update('1', { name: 'x' })).toMatchObject({ status: 200, body: { a: 1 } })
    }
    expect(service.requests()).toBe(4)
    expect(service.connections()).toBeLessThanOrEqual(2)
  })
})

it('a body that looks like an interim response is a body', async () => {
  const service = await rawService((answer) => answer.split(/(?<=\r\n\r\n)/), `${CONTINUE}x`)
  const client = clientOf({ ...(await startService()), ...service }, { maxAttempts: 1 })
  expect(await client.accounts.update('1', { name: 'x' })).toMatchObject({ body: `${CONTINUE}x` })
})

it.each([
  ['interim responses without an answer', () => [CONTINUE]],
  ['half of an interim response', () => ['HTTP/1.1 100 Conti']],
  ['an interim response without end', () => [`HTTP/1.1 100 ${'x'.repeat(40_000)}`]],
])('%s are no answer', async (_what, pieces) => {
  const service = await rawService(pieces)
  const client = clientOf({ ...(await startService()), ...service }, { maxAttempts: 1, timeoutMs: 100 })
  expect((await rejection(client.accessToken())).code).toMatch(/^ERR_SERVICE_(TIMEOUT|UNREACHABLE)$/)
})
