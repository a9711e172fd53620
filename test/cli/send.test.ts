import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { verifyCallback } from '../../src/signature/index.js'
import { parseHttpDate } from '../../src/signature/timestamp.js'
import { FAULTS } from '../../src/simulator/fault.js'
import { configModule, SUBSCRIPTION } from './configured.js'
import { serve } from '../support/hosts.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Answers every request with the next status, the last one for ever, and keeps what it got. */
async function recorder(...statuses: number[]): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      received.push({ path: request.url!, headers: request.headers, body })
      response.writeHead(statuses[Math.min(received.length, statuses.length) - 1] ?? 200).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  sandbox.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rewritten/path`, received }
}

const ENV = { COUNTERSIGN_SECRET: SUBSCRIPTION.secret }
const TO = ['--callback-url', SUBSCRIPTION.callbackUrl]

const send = (url: string, ...args: string[]) => countersign(['send', url, ...TO, ...args], { env: ENV })

function isGenuine({ headers, body }: Received): boolean {
  const { authorization, 'authorization-timestamp': timestamp } = headers
  return verifyCallback({ ...SUBSCRIPTION, timestamp, authorization, body }).valid
}

const key = ({ headers }: Received) => headers['x-idempotency-key']

describe('countersign send', () => {
  it('sends a callback that is signed for the callback URL, wherever it goes', async () => {
    const { url, received } = await recorder()
    const { code, stdout } = await send(url)
    expect(code).toBe(0)
    expect(received).toHaveLength(1)
    expect(received[0]).toMatchObject({
      path: '/rewritten/path',
      headers: { 'x-event-type': 'transfers.book-completed', 'content-type': 'application/json' },
    })
    expect(isGenuine(received[0]!)).toBe(true)
    expect(JSON.parse(received[0]!.body.toString())).toEqual({ Id: expect.any(String) })
    expect(stdout).toMatch(/1 {2}first .* 200 /)
  })

  it('signs for URL itself where no callback URL is given', async () => {
    const { url, received } = await recorder()
    await countersign(['send', url], { env: ENV })
    const { headers, body } = received[0]!
    const { authorization, 'authorization-timestamp': timestamp } = headers
    const { secret } = SUBSCRIPTION
    expect(verifyCallback({ callbackUrl: url, secret, timestamp, authorization, body }).valid).toBe(true)
  })

  it('sends the key, the type and the body that it is given', async () => {
    const { url, received } = await recorder()
    await send(url, '--key', 'KEY', '--event-type', 'other', '--body', '{ "Id" : "ä" }\n')
    expect(received[0]!.headers).toMatchObject({ 'x-idempotency-key': 'KEY', 'x-event-type': 'other' })
    expect(received[0]!.body.toString()).toBe('{ "Id" : "ä" }\n')
    expect(isGenuine(received[0]!)).toBe(true)
  })

  it('sends as many as asked for, each with a key and a body of its own', async () => {
    const { url, received } = await recorder()
    const { stdout } = await send(url, '--count', '7', '--concurrency', '3')
    expect(new Set(received.map(key)).size).toBe(7)
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(7)
    expect(stdout).toContain('7 sent: 7 x 200')
  })

  it('sends the body chunked on request', async () => {
    const { url, received } = await recorder()
    await send(url, '--chunked')
    expect(received[0]!.headers).toMatchObject({ 'transfer-encoding': 'chunked' })
    expect(received[0]!.headers['content-length']).toBeUndefined()
    expect(isGenuine(received[0]!)).toBe(true)
  })

  it('never prints a secret or a signature', async () => {
    const { url, received } = await recorder()
    for (const format of [[], ['--json']]) {
      const { stdout, stderr } = await send(url, ...format)
      expect(stdout + stderr).not.toContain(SUBSCRIPTION.secret)
      expect(stdout + stderr).not.toContain(received.at(-1)!.headers.authorization!.slice(-44))
    }
  })
})

describe('a fault', () => {
  async function faulty(...args: string[]): Promise<Received[]> {
    const { url, received } = await recorder()
    expect(await send(url, ...args)).toMatchObject({ code: 0, stderr: '' })
    return received
  }
  const ageMs = ({ headers }: Received) =>
    Date.now() - parseHttpDate(headers['authorization-timestamp'] as string)!

  it('--repeat sends the same request twice', async () => {
    const [first, second, ...more] = await faulty('--repeat')
    expect(more).toEqual([])
    expect(second).toEqual(first)
  })

  it('--rewritten-key sends the same signature under a fresh key', async () => {
    const [first, second] = await faulty('--rewritten-key')
    expect(second!.headers.authorization).toBe(first!.headers.authorization)
    expect(second!.body).toEqual(first!.body)
    expect(key(second!)).not.toBe(key(first!))
  })

  it('--other-body sends another body under the same key, genuine as well', async () => {
    const [first, second] = await faulty('--other-body')
    expect(key(second!)).toBe(key(first!))
    expect(second!.body).not.toEqual(first!.body)
    expect([first!, second!].map(isGenuine)).toEqual([true, true])
  })

  it('--wrong-secret signs with another secret', async () => {
    const [request] = await faulty('--wrong-secret')
    expect(request!.headers.authorization).toMatch(/^HMAC-SHA256 Signature=[\w+/]{43}=$/)
    expect(isGenuine(request!)).toBe(false)
  })

  it('--tampered changes the body after signing, and not its length', async () => {
    const [request] = await faulty('--tampered', '--body', '{"Id":"1"}')
    expect(request!.body).toHaveLength('{"Id":"1"}'.length)
    expect(isGenuine(request!)).toBe(false)
  })

  it('--late signs 48 hours ago, or as long ago as it says', async () => {
    expect(ageMs((await faulty('--late'))[0]!)).toBeGreaterThanOrEqual(172_800_000)
    const [request] = await faulty('--late', '600000')
    expect(ageMs(request!)).toBeGreaterThanOrEqual(600_000)
    expect(ageMs(request!)).toBeLessThan(700_000)
    expect(isGenuine(request!)).toBe(true)
  })

  it('--early signs in the future', async () => {
    const [request] = await faulty('--early')
    expect(ageMs(request!)).toBeLessThan(-3_500_000)
    expect(isGenuine(request!)).toBe(true)
  })

  it('--unsigned leaves the header out, and needs no secret', async () => {
    const { url, received } = await recorder()
    expect((await countersign(['send', url, ...TO, '--unsigned'])).code).toBe(0)
    expect(received[0]!.headers.authorization).toBeUndefined()
  })

  it('--rewritten-type changes what is not signed', async () => {
    const [request] = await faulty('--rewritten-type', 'accounts.closed')
    expect(request!.headers['x-event-type']).toBe('accounts.closed')
    expect(isGenuine(request!)).toBe(true)
    expect((await faulty('--rewritten-type'))[0]!.headers['x-event-type']).toBe('rewritten.type')
  })
})

it('names each fault as the simulator does, and the docs say which', async () => {
  const { stdout } = await countersign(['send', '--help'])
  const options = [...stdout.matchAll(/^ {2}--([\w-]+)/gm)].map(([, name]) => name!)
  const others =
    'callback-url event-type key timestamp print secret-env secret-file body body-file count concurrency chunked expect timeout-ms json'
  const faults = options.filter((name) => !others.split(' ').includes(name)).toSorted()
  expect(faults.filter((name) => !Object.hasOwn(FAULTS, name))).toEqual([])
  const docs = await readFile(join(__dirname, '../../docs/simulator.md'), 'utf8')
  const marked = [...docs.matchAll(/^\| `([\w-]+)` +\|.*\| yes +\|$/gm)].map(([, name]) => name!)
  expect(marked.toSorted()).toEqual(faults)
})

describe('--expect', () => {
  it('holds for each delivery of a callback in turn, the last one for those that follow', async () => {
    const { url } = await recorder(200, 409, 409)
    const { code, stdout } = await send(url, '--repeat', '--rewritten-key', '--expect', '200,409')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringContaining('EXPECTED') })
  })

  it('ends with 3 where it does not hold', async () => {
    const { url } = await recorder(200, 200)
    const { code, stdout } = await send(url, '--rewritten-key', '--expect', '200,409')
    expect({ code, stdout }).toEqual({
      code: 3,
      stdout: expect.stringMatching(/rewritten-key .* 200 .*EXPECTED 409/),
    })
  })

  it('does not let an answer of 500 pass for a failure where nothing is expected', async () => {
    expect((await send((await recorder(500)).url)).code).toBe(0)
  })

  it('is refused when it names more statuses than there are deliveries', async () => {
    const { code, stderr } = await send('http://127.0.0.1:1/', '--expect', '200,200')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('2 statuses, but a callback has 1'),
    })
  })
})

describe('without an answer', () => {
  it('ends with 1 and says why', async () => {
    const { code, stdout } = await send('http://127.0.0.1:1/', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      asExpected: false,
      sent: [{ delivery: 'first', error: 'ECONNREFUSED' }],
    })
  })

  it('takes a 101 that was not asked for as an answer', async () => {
    const port = await serve(({ socket }) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    )
    const ran = await send(`http://127.0.0.1:${port}/`, '--repeat', '--expect', '200')
    expect(ran).toMatchObject({ code: 3, stdout: expect.stringContaining('2 sent: 2 x 101') })
  })

  it('gives up after --timeout-ms', async () => {
    const port = await serve(() => {})
    const { code, stdout } = await send(`http://127.0.0.1:${port}/`, '--timeout-ms', '100')
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('no answer (ETIMEDOUT)') })
  })
})

describe('wrong usage of send', () => {
  it.each([
    [['ftp://x/'], 'Use an absolute http or https URL'],
    [['http://x/', '--callback-url', 'https://X.example.com'], 'must be spelled "https://x.example.com/"'],
    [['http://x/', '--late', '--early'], 'cannot be used with'],
    [['http://x/', '--count', '0'], 'Use a whole number, from 1'],
    [['http://x/', '--late', '1000000000001'], "'--late [ms]' argument '1000000000001' is invalid"],
    [['http://x/', '--event-type', ''], "'--event-type <type>' argument '' is invalid"],
    [['http://x/', '--key', 'a\nb'], 'It must fit in a header'],
    [['http://x/'], 'no secret: use --secret-env or --secret-file, or set COUNTERSIGN_SECRET'],
    [['http://x/', '--secret-env', 'NONE'], 'the environment variable NONE is not set'],
    [['http://x/', '--secret', 'literal'], "unknown option '--secret'"],
    [['http://x/', '--wrong-secret', '--tampered', '--body', ''], 'an empty body has no byte to change'],
  ])('ends with 2: %j', async (args, message) => {
    const { code, stderr } = await countersign(['send', ...args])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })
})

it('finds a real receiver answering each fault as the table of outcomes says', async () => {
  const cwd = await sandbox.directory({ 'countersign.config.mjs': configModule('') })
  const url = `http://127.0.0.1:${await sandbox.serve([], { cwd }).port()}/`
  const faults = [
    ['--repeat', '--rewritten-key', '--other-body', '--expect', '200,200,409,409'],
    ['--wrong-secret', '--expect', '401'],
    ['--late', '--expect', '401'],
    ['--early', '--expect', '401'],
    ['--tampered', '--expect', '401'],
    ['--unsigned', '--expect', '401'],
    ['--rewritten-type', 'accounts.closed', '--expect', '401'],
    ['--chunked', '--expect', '200'],
    ['--key', 'no-uuid', '--expect', '400'],
    ['--body', 'no JSON', '--expect', '400'],
  ]
  for (const fault of faults) expect([fault, (await send(url, ...fault)).code]).toEqual([fault, 0])
})

it('has no answer from a receiver whose answer does not end within --timeout-ms', async () => {
  const server = createServer((_, response) => {
    // The end of the connection would be the end of this answer (RFC 9112, section 6.3).
    response.socket!.write('HTTP/1.1 200 OK\r\n\r\nx')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  sandbox.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  expect(await send(url, '--timeout-ms', '300')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('no answer (ETIMEDOUT)'),
  })
})
