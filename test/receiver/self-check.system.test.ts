import { execFileSync } from 'node:child_process'
import fs, { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express5, { type Express } from 'express'
import express4 from 'express4'
import { createReceiver, type Receiver, type ReceiverOptions } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { selfCheck } from '../../src/receiver/self-check/self-check.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { collectedLog } from '../support/collected-log.js'
import { serve } from '../support/hosts.js'
import { genuine, SECRET, subscription } from '../support/running-receiver.js'
import { testStore } from './own-store.js'

const environment = { ...process.env }
afterEach(() => {
  process.env = { ...environment }
})

/** The warnings of a receiver that starts with these options and this environment. */
async function warnings(
  options: Partial<ReceiverOptions>,
  env: Record<string, string> = {},
): Promise<{ codes: unknown[]; text: string }> {
  Object.assign(process.env, env)
  const log = collectedLog()
  const receiver = createReceiver({
    subscriptions: [subscription],
    logger: log,
    ...options,
  })
  receiver.onAny(() => {})
  await receiver.start()
  await receiver.stop()
  return { codes: log.lines.map(({ fields }) => fields['code']), text: log.text() }
}

test('a receiver that is set up well says nothing', async () => {
  expect((await warnings({})).codes).toEqual([])
  expect((await warnings({}, { NODE_ENV: 'production' })).codes).toEqual([])
})

test('start() called twice says it once', async () => {
  const log = collectedLog()
  const receiver = createReceiver({ subscriptions: [{ ...subscription, secret: 'short' }], logger: log })
  receiver.onAny(() => {})
  await receiver.start()
  await receiver.start()
  expect(log.withCode('WARN_SECRET_WEAK')).toHaveLength(1)
})

describe('secrets', () => {
  const withSecret = (secret: string) => warnings({ subscriptions: [{ ...subscription, secret }] })

  test.each([
    ['fifteen-bytes..', 'WARN_SECRET_WEAK'],
    ['changeme', 'WARN_SECRET_WEAK'],
    ['CHANGE_ME_BEFORE_PRODUCTION', 'WARN_SECRET_WEAK'],
    ['<secret>', 'WARN_SECRET_WEAK'],
    ['${CALLBACK_SECRET}', 'WARN_SECRET_WEAK'],
    ['your-webhook-secret', 'WARN_SECRET_WEAK'],
    ['undefined', 'WARN_SECRET_WEAK'],
    ['3f8a2b1c-9d4e-4f60-8a7b-1c2d3e4f5a6b', 'WARN_SECRET_WEAK'],
    ['sk_live_51HxQ0aBcDeFgHiJ', 'WARN_SECRET_WEAK'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 'WARN_SECRET_WEAK'],
  ])('%s is named, and not shown', async (secret, code) => {
    const { codes, text } = await withSecret(secret)
    expect(codes).toEqual([code])
    expect(text).not.toContain(secret)
  })

  test.each([SECRET, 'sixteen-bytes...', 'the secret of tenant 17', 'only-for~this.test'])(
    '%s is fine',
    async (secret) => expect((await withSecret(secret)).codes).toEqual([]),
  )

  test('one that several subscriptions share is named once', async () => {
    const subscriptions = [1, 2, 3].map((id) => ({
      ...subscription,
      id: String(id),
      callbackUrl: `https://partner.example.com/${id}`,
      secret: 'short',
    }))
    expect((await warnings({ subscriptions })).codes).toEqual(['WARN_SECRET_WEAK'])
  })
})

describe('URLs', () => {
  const withUrls = (urls: string[], env?: Record<string, string>) =>
    warnings({ subscriptions: urls.map((callbackUrl) => ({ ...subscription, callbackUrl })) }, env)
  const production = { NODE_ENV: 'production' }

  test.each([
    'https://localhost/hooks',
    'https://127.0.0.1:3000/hooks',
    'https://10.1.2.3/hooks',
    'https://172.31.0.1/hooks',
    'https://192.168.1.1/hooks',
    'https://[::1]/hooks',
    'https://[fd00::1]/hooks',
    'https://receiver/hooks',
    'http://receiver.internal/hooks',
  ])('%s is private in production', async (url) => {
    expect((await withUrls([url], production)).codes).toEqual(['WARN_CALLBACK_URL_PRIVATE'])
    expect((await withUrls(['https://partner.example.com/other', url])).codes).toContain(
      'WARN_CALLBACK_URL_PRIVATE',
    )
  })

  test.each([
    'https://172.32.0.1/hooks',
    'https://[2001:db8::1]/hooks',
    'https://localhost.example.com/hooks',
  ])('%s is not private', async (url) => expect((await withUrls([url], production)).codes).toEqual([]))

  test('of a development machine are not named', async () => {
    expect((await withUrls(['http://localhost:3000/hooks'], { NODE_ENV: 'test' })).codes).toEqual([])
  })

  test('with http are named in production, without their queries', async () => {
    const url = 'http://partner.example.com/hooks?token=of-the-query'
    const { codes, text } = await withUrls([url], production)
    expect(codes).toEqual(['WARN_CALLBACK_URL_HTTP'])
    expect(text).not.toContain('of-the-query')
    expect((await withUrls([url], { NODE_ENV: 'development' })).codes).toEqual([])
  })
})

describe('several processes', () => {
  test.each(['KUBERNETES_SERVICE_HOST', 'NODE_APP_INSTANCE', 'AWS_LAMBDA_FUNCTION_NAME'])(
    '%s with memory only is a hint',
    async (variable) => {
      const { codes, text } = await warnings({}, { [variable]: '1' })
      expect(codes).toEqual(['WARN_STORE_NOT_SHARED'])
      expect(text).toContain(variable)
    },
  )

  test('a worker of node:cluster with memory only is a hint, and its primary process is not', () => {
    const script = `
      const cluster = require('node:cluster')
      const { createReceiver } = require(${JSON.stringify(join(__dirname, '../../dist/index.js'))})
      const logger = { debug() {}, info() {}, error: console.error, warn: ({ code }, message) => console.log(String(cluster.isWorker), code, message) }
      const receiver = createReceiver({ subscriptions: [${JSON.stringify(subscription)}], logger })
      receiver.onAny(() => {}).start().then(() => receiver.stop()).then(() => {
        if (cluster.isPrimary) cluster.fork()
        else process.exit()
      })`
    const folder = mkdtempSync(join(tmpdir(), 'cluster-'))
    writeFileSync(join(folder, 'program.cjs'), script)
    const lines = execFileSync(process.execPath, [join(folder, 'program.cjs')], { encoding: 'utf8' })
    rmSync(folder, { recursive: true })
    expect(lines).toMatch(/^true WARN_STORE_NOT_SHARED .*this process is a worker of node:cluster.*\n$/)
  })

  test('an inbox in memory is named as well', async () => {
    const { codes } = await warnings({ inbox: new MemoryInbox() }, { KUBERNETES_SERVICE_HOST: '10.0.0.1' })
    expect(codes).toContain('WARN_STORE_NOT_SHARED')
  })

  test('a store of its own is not', async () => {
    const { codes } = await warnings({ store: testStore() }, { KUBERNETES_SERVICE_HOST: '10.0.0.1' })
    expect(codes).toEqual([])
  })
})

describe('the clock', () => {
  const folder = mkdtempSync(join(tmpdir(), 'timesync-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  function codes(timesyncFolder: string): unknown[] {
    const log = collectedLog()
    selfCheck(
      { subscriptions: [], inMemory: true, logger: log },
      { env: {}, isClusterWorker: false, timesyncFolder },
    )
    return log.lines.map(({ fields }) => fields['code'])
  }

  test('is named while systemd has not synchronised it, and only where systemd does that', () => {
    expect(codes(join(folder, 'not-there'))).toEqual([])
    mkdirSync(join(folder, 'timesync'))
    expect(codes(join(folder, 'timesync'))).toEqual(['WARN_CLOCK_NOT_SYNCHRONISED'])
    writeFileSync(join(folder, 'timesync', 'synchronized'), '')
    expect(codes(join(folder, 'timesync'))).toEqual([])
  })

  test('is not named where the permission model of Node does not let the process look', () => {
    const look = jest.spyOn(fs, 'existsSync').mockImplementation(() => {
      throw Object.assign(new Error('Access to this API has been restricted.'), { code: 'ERR_ACCESS_DENIED' })
    })
    try {
      expect(codes(folder)).toEqual([])
    } finally {
      look.mockRestore()
    }
  })
})

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('a body parser ahead, in %s', (_, express) => {
  /** A first request that the parser does not read, and a callback. */
  async function codes(mount: (app: Express, receiver: Receiver) => void) {
    const log = collectedLog()
    const receiver = createReceiver({ subscriptions: [subscription], logger: log })
    receiver.onAny(() => {})
    const app = express()
    mount(app, receiver)
    const port = await serve(app as never)
    const other = genuine({ headers: { 'Content-Type': 'text/plain' } })
    for (let sent = 0; sent < 2; sent++) await sendRawRequest(other.toHttp(), { port })
    return log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields['code'])
  }
  const PATH = '/hooks/transfers'
  const NAMED = ['WARN_BODY_PARSER_AHEAD']

  test('is found at the first request that it does not read, once', async () => {
    expect(await codes((app, receiver) => app.use(express.json()).post(PATH, receiver.middleware()))).toEqual(
      NAMED,
    )
    expect(await codes((app, receiver) => app.use(express.json()).use(receiver.middleware()))).toEqual(NAMED)
  })

  test('is found before a router', async () => {
    const mount = (app: Express, receiver: Receiver) =>
      app.use(express.json()).use('/hooks', express.Router().post('/transfers', receiver.middleware()))
    expect(await codes(mount)).toEqual(NAMED)
  })

  test.each([
    ['in rawBody', (request: object, bytes: Buffer) => Object.assign(request, { rawBody: bytes })],
    [
      'for the path of the receiver',
      (request: object, bytes: Buffer) =>
        (request as express5.Request).originalUrl.startsWith(PATH) &&
        Object.assign(request, { rawBody: bytes }),
    ],
  ])('that keeps the bytes is not named: %s', async (_how, keep) => {
    const parser = () => express.json({ verify: (request, _response, bytes) => void keep(request, bytes) })
    expect(await codes((app, receiver) => app.use(parser()).post(PATH, receiver.middleware()))).toEqual([])
    const mount = (app: Express, receiver: Receiver) =>
      app.use(parser()).use('/hooks', express.Router().post('/transfers', receiver.middleware()))
    expect(await codes(mount)).toEqual([])
  })

  test('is not named if its verify option throws, as it is not known what it does', async () => {
    const verify = () => {
      throw new Error('not signed')
    }
    expect(
      await codes((app, receiver) => app.use(express.json({ verify })).post(PATH, receiver.middleware())),
    ).toEqual([])
  })

  test('that does not read JSON is not named', async () => {
    const parser = express.json({ type: 'application/vnd.api+json' })
    expect(await codes((app, receiver) => app.use(parser).post(PATH, receiver.middleware()))).toEqual([])
  })

  test('is not seen after the receiver, for another path, or in another router', async () => {
    expect(await codes((app, receiver) => app.post(PATH, receiver.middleware()).use(express.json()))).toEqual(
      [],
    )
    expect(
      await codes((app, receiver) => app.use('/api', express.json()).post(PATH, receiver.middleware())),
    ).toEqual([])
    expect(
      await codes((app, receiver) =>
        app.use('/api', express.Router().use(express.json())).post(PATH, receiver.middleware()),
      ),
    ).toEqual([])
    expect(
      await codes((app, receiver) =>
        app.use(express.urlencoded({ extended: false })).post(PATH, receiver.middleware()),
      ),
    ).toEqual([])
  })
})
