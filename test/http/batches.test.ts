import { AsyncLocalStorage } from 'node:async_hooks'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createReceiver, MemoryIdempotencyStore, type IdempotencyStore } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { connection } from '../support/connection.js'
import { HOST_NAMES, serve } from '../support/hosts.js'
import { FORGED, genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { LIMIT_MS, until } from '../support/until.js'

const subscriptions = [subscription]

afterEach(() => jest.useRealTimers())

describe.each(HOST_NAMES)('two hundred callbacks in one write, in %s,', (hostName) => {
  it('are each answered for what they are, in their order', async () => {
    const { port, handled } = await runReceiver({ in: hostName })
    const { socket, received, closed } = await connection(port)
    const kinds = [
      [200, () => genuine().toHttp()],
      [401, () => genuine({ headers: { Authorization: FORGED } }).toHttp()],
      [200, () => genuine().toHttp({ chunked: true })],
      [401, () => genuine({ headers: { Authorization: 'Basic x' } }).toHttp()],
      [415, () => genuine({ headers: { 'Content-Encoding': 'gzip' } }).toHttp()],
    ] as const
    const sent = Array.from({ length: 200 }, (_, index) => kinds[index % kinds.length]!)
    const last = genuine({ headers: { Connection: 'close' } }).toHttp()
    socket.write(Buffer.concat([...sent.map(([, toHttp]) => toHttp()), last]))
    await closed

    const statuses = [...received().matchAll(/HTTP\/1\.1 (\d\d\d) /g)].map(([, status]) => Number(status))
    expect(statuses).toEqual([...sent.map(([status]) => status), 200])
    expect(handled).toHaveLength(81)
  })
})

it.each(HOST_NAMES)('answers a callback when its whole batch has been handled, in %s', async (hostName) => {
  const answeredBefore: number[] = []
  const { port, outcomes } = await runReceiver({
    in: hostName,
    handler: () => answeredBefore.push(outcomes.length),
  })
  const { socket } = await connection(port)
  socket.write(Buffer.concat([genuine(), genuine(), genuine()].map((callback) => callback.toHttp())))
  await until(() => outcomes.length === 3)
  expect(answeredBefore).toEqual([0, 0, 0])
})

describe('between the end of a body and its batch', () => {
  it('stop() has no handler begin, and the sender told to come back', async () => {
    const handler = jest.fn()
    const receiver = createReceiver({ subscriptions, logger: false }).onAny(handler)
    const listener = receiver.requestListener()
    let stopped: Promise<void> | undefined
    const port = await serve((request, response) => {
      request.once('end', () => process.nextTick(() => (stopped = receiver.stop())))
      listener(request, response)
    })
    const { socket, received, closed } = await connection(port)
    socket.write(genuine().toHttp())
    await closed
    await stopped

    expect(received()).toMatch(/^HTTP\/1\.1 503 [^]*\r\nConnection: close\r\n/)
    expect(handler).not.toHaveBeenCalled()
  })

  it('a server that closes still gives its answer', async () => {
    const listener = createReceiver({ subscriptions, logger: false })
      .onAny(() => {})
      .requestListener()
    const server = createServer((request, response) => {
      request.once('end', () => process.nextTick(() => server.close()))
      listener(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { socket, received, closed } = await connection((server.address() as AddressInfo).port)
    socket.write(genuine({ headers: { Connection: 'close' } }).toHttp())
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('a connection that breaks keeps no callback from being handled', async () => {
    const outcome = jest.fn()
    const receiver = createReceiver({ subscriptions, logger: false })
      .onAny(() => {})
      .onOutcome(({ code }) => outcome(code))
    const listener = receiver.requestListener()
    const port = await serve((request, response) => {
      request.once('end', () => process.nextTick(() => request.socket.destroy()))
      listener(request, response)
    })
    const { socket } = await connection(port)
    socket.write(genuine().toHttp())
    await until(() => outcome.mock.calls.length === 1)
    expect(outcome).toHaveBeenCalledWith('HANDLED')
  })
})

it('has few keys claimed whose handlers wait for others to compute', async () => {
  const inner = new MemoryIdempotencyStore()
  let claimed = 0
  const store: IdempotencyStore = {
    retentionMs: inner.retentionMs,
    claim(request) {
      claimed++
      return inner.claim(request)
    },
  }
  const ahead: number[] = []
  const { port, outcomes } = await runReceiver({
    store,
    handler: () => ahead.push(claimed - outcomes.length),
  })
  const { socket } = await connection(port)
  socket.write(Buffer.concat(Array.from({ length: 100 }, () => genuine().toHttp())))
  await until(() => outcomes.length === 100)
  expect(Math.max(...ahead)).toBeLessThanOrEqual(32)
})

it('lets a large body go ahead, as many would be held in memory meanwhile', async () => {
  const sizes: number[] = []
  const { port, outcomes } = await runReceiver({ handler: ({ rawBody }) => sizes.push(rawBody.length) })
  const { socket } = await connection(port)
  const large = genuine({ payload: { Id: 'x'.repeat(20_000) } })
  socket.write(Buffer.concat([genuine().toHttp(), large.toHttp()]))
  await until(() => outcomes.length === 2)
  expect(sizes).toEqual([large.body.length, expect.any(Number)])
})

it('keeps apart the asynchronous contexts of callbacks that arrive together', async () => {
  const context = new AsyncLocalStorage<string>()
  const seen: [key: string, context: string | undefined][] = []
  const receiver = createReceiver({ subscriptions, logger: false }).on(
    subscription.eventTypeName,
    (event) => {
      seen.push([event.idempotencyKey, context.getStore()])
    },
  )
  const app = express()
  app.use((request, _response, next) => context.run(request.get('X-Idempotency-Key')!, next))
  app.post('/hooks/transfers', receiver.middleware())
  const port = await serve(app)

  const send = () => sendRawRequest(genuine().toHttp(), { port }, { timeoutMs: LIMIT_MS })
  const answers = Array.from({ length: 100 }, send)
  expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true)
  expect(seen).toHaveLength(100)
  expect(seen.filter(([key, context]) => key !== context)).toEqual([])
})

it('answers while a test has its timers faked', async () => {
  const receiver = createReceiver({ subscriptions, logger: false }).onAny(() => {})
  const port = await serve(receiver.requestListener())
  jest.useFakeTimers()
  expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 200 })
})

it('answers when the timers were faked before it was loaded', async () => {
  jest.useFakeTimers()
  const loaded: { createReceiver?: typeof createReceiver } = {}
  await jest.isolateModulesAsync(async () => {
    Object.assign(loaded, await import('../../src/index.js'))
  })
  jest.useRealTimers()
  const receiver = loaded.createReceiver!({ subscriptions }).onAny(() => {})
  const { socket, receives } = await connection(await serve(receiver.requestListener()))
  socket.write(genuine().toHttp())
  await receives(/200 OK/)
})
