import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inspect, promisify } from 'node:util'
import { createClient } from '../../src/client/index.js'
import { collectedLog } from '../support/collected-log.js'
import { CLIENT_ID, CLIENT_SECRET, clientOf, rejection, startService } from './service.js'

const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()])
const before = Object.fromEntries(NAMES.map((name) => [name, process.env[name]]))

let proxy: Server
let proxyUrl: string
let asked: string[]

/** Notes what it is asked for, and refuses to connect. */
beforeEach(async () => {
  asked = []
  proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.writeHead(502).end()
  })
  proxy.on('connect', ({ url, headers }, socket) => {
    asked.push(`CONNECT ${url} ${headers['proxy-authorization'] ?? ''}`.trim())
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  for (const name of NAMES) delete process.env[name]
})

afterEach(async () => {
  for (const name of NAMES) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
  proxy.closeAllConnections()
  await new Promise((resolve) => proxy.close(resolve))
})

async function askFor(baseUrl: string): Promise<any> {
  const client = createClient({ baseUrl, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, maxAttempts: 1 })
  const error = await rejection(client.accessToken())
  await client.close()
  return error
}

describe.each(['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY'])('%s', (name) => {
  it('is asked for a tunnel to the service', async () => {
    process.env[name] = proxyUrl
    const error = await askFor('https://api.bank.invalid')
    expect(asked).toEqual(['CONNECT api.bank.invalid:443'])
    expect(error).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE' })
    expect(error.message).toContain('no complete answer (Proxy response (502)')
  })
})

it('a proxy is given its own credentials, which stand in no error', async () => {
  process.env['HTTPS_PROXY'] = proxyUrl.replace('//', '//user:word@')
  const error = await askFor('https://api.bank.invalid')
  expect(asked[0]).toBe(`CONNECT api.bank.invalid:443 Basic ${btoa('user:word')}`)
  expect(error.stack + error.cause.stack).not.toMatch(/word|dXNlcjp3b3Jk/)
})

it('NO_PROXY keeps a service from the proxy', async () => {
  process.env['HTTPS_PROXY'] = proxyUrl
  process.env['NO_PROXY'] = '127.0.0.1'
  const { baseUrl } = await startService()
  // Nobody speaks TLS there: it is enough to see where it goes.
  await askFor(baseUrl.replace('http:', 'https:'))
  expect(asked).toEqual([])
})

it('plain http never leaves the machine by way of a proxy', async () => {
  process.env['HTTP_PROXY'] = proxyUrl
  const service = await startService()
  await clientOf(service).accessToken()
  expect(asked).toEqual([])
  expect(service.tokenRequests).toHaveLength(1)
})

it('a proxy that is not a URL is an error of the call, without its text', async () => {
  process.env['HTTPS_PROXY'] = 'http://user:word@:port'
  const error = await askFor('https://api.bank.invalid')
  expect(error).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE' })
  expect(error.stack + error.cause.stack).not.toContain('word')
})

describe.each(['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'])('a malformed %s', (name) => {
  it.each([
    'http://user:word@:port',
    'http://user:word@',
    'user:word@proxy.example.com:3128',
    'proxy.example.com:3128',
    'ftp://user:word@proxy.example.com',
    'http://user:word@proxy.example.com:99999',
    'http://user:wo%zzword@proxy.example.com',
    'word',
  ])('is named, but not its value: %s', async (value) => {
    process.env[name] = value
    const error = await askFor('https://api.bank.invalid')
    expect(error).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE' })
    expect(error.message).toContain(`nothing was sent: ${name} `)
    expect(inspect(error, { showHidden: true, depth: Infinity })).not.toContain('word')
  })

  it('is not tried again, and is no matter of plain http', async () => {
    process.env[name] = 'word'
    const service = await startService()
    await clientOf(service).accessToken()
    const logger = collectedLog()
    const client = clientOf(service, { baseUrl: 'https://api.bank.invalid', logger })
    const error = await rejection(
      client.subscriptions.create({
        eventTypeName: 'transfers.book-completed',
        callbackUrl: 'https://partner.example.com/',
        secret: 'geheim',
      }),
    )
    expect(error).toMatchObject({ mayBeCreated: false })
    expect(logger.lines).toHaveLength(1)
  })
})

it('a NO_PROXY that lists the service as a URL is named', async () => {
  process.env['HTTPS_PROXY'] = proxyUrl
  process.env['NO_PROXY'] = 'localhost,https://api.bank.invalid/'
  const error = await askFor('https://api.bank.invalid')
  expect(error.message).toContain(
    'NO_PROXY lists the service as a URL: write the host only, api.bank.invalid',
  )
  expect(asked).toEqual([])
})

it.each(['localhost,10.0.0.0/8,*.bank.invalid', 'https://other.invalid,.bank.invalid'])(
  'a NO_PROXY that other programs understand is taken: %s',
  async (value) => {
    process.env['HTTPS_PROXY'] = proxyUrl
    process.env['NO_PROXY'] = value
    const error = await askFor('https://api.bank.invalid')
    expect(error.message).not.toContain('NO_PROXY')
    expect(asked).toEqual([])
  },
)

// undici makes its own agent that of the whole process when it finds none.
it("Node's own fetch stays as it is", async () => {
  const { baseUrl } = await startService()
  const program = `
    const { createClient } = require('countersign/client')
    async function run() {
      const client = createClient({ baseUrl: '${baseUrl}', clientId: '${CLIENT_ID}', clientSecret: 's' })
      await client.accessToken()
      await client.close()
      const { Agent } = require('undici')
      console.log(JSON.stringify(globalThis[Symbol.for('undici.globalDispatcher.1')] instanceof Agent))
    }
    run()`
  const cwd = join(__dirname, '../..')
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--eval', program], {
    cwd,
    env: {},
  })
  expect({ stdout, stderr }).toEqual({ stdout: 'false\n', stderr: '' })
})
