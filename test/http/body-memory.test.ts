import express from 'express'
import { BodyMemory } from '../../src/http/body-memory.js'
import { CoalescedBody } from '../../src/http/coalesced-body.js'
import { captureRawBody, createReceiver, verifySignature } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { connection, type Connection } from '../support/connection.js'
import { HOST_NAMES, serve } from '../support/hosts.js'
import { FORGED, genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { deferred } from '../support/deferred.js'
import { until } from '../support/until.js'

const LIMITS = { maxBodyBytes: 100_000, maxBufferedBytes: 400_000 }

describe('the body that raw-body reads', () => {
  const written = (pieces: readonly Buffer[], expectedBytes?: number) => {
    const memory = new BodyMemory(10_000_000)
    const body = new CoalescedBody(memory, 1_000_000, expectedBytes)
    const chunks: Buffer[] = []
    body.on('data', (chunk) => chunks.push(chunk))
    expect(pieces.every((piece) => body.write(piece))).toBe(true)
    return { memory, body, chunks }
  }
  const whole = (pieces: readonly Buffer[], expectedBytes?: number) => {
    const { memory, body, chunks } = written(pieces, expectedBytes)
    body.end()
    return { memory, body, chunks, bytes: body.settle(Buffer.concat(chunks)) }
  }
  const piece = (length: number) => {
    const bytes = Buffer.allocUnsafeSlow(length)
    return bytes.fill(length)
  }

  it('is a few chunks and takes at most twice the bytes, however many pieces arrive', () => {
    const pieces = Array.from({ length: 100_000 }, () => piece(1))
    expect(written(pieces).memory.heldBytes).toBeLessThanOrEqual(200_000)
    const { memory, body, chunks, bytes } = whole(pieces)
    expect(chunks.length).toBeLessThan(10)
    expect(bytes.equals(Buffer.alloc(100_000, 1))).toBe(true)
    expect(memory.heldBytes).toBe(100_000)
    body.release()
    expect(memory.heldBytes).toBe(0)
  })

  it('takes no more than what has arrived allows, whatever length was declared', () => {
    expect(written([piece(1)], 1_000_000).memory.heldBytes).toBe(1)
    expect(written([piece(1), piece(1)], 1_000_000).memory.heldBytes).toBe(1_025)
    expect(written([piece(2_000), piece(500)], 3_000).memory.heldBytes).toBe(3_000)
  })

  it('is not copied when it arrives in one piece', () => {
    const only = piece(300)
    expect(whole([only], 300).bytes).toBe(only)
  })

  it('does not keep what a piece is a slice of', () => {
    const slice = piece(65_536).subarray(10, 12)
    const { bytes } = whole([slice], 2)
    expect(bytes).toEqual(slice)
    expect(bytes.buffer).not.toBe(slice.buffer)
  })

  it('holds nothing twice and releases nothing twice', () => {
    const { memory, body, bytes } = whole([piece(10), piece(5_000), piece(20)])
    expect(bytes).toEqual(Buffer.concat([piece(10), piece(5_000), piece(20)]))
    body.release()
    body.release()
    expect(memory.heldBytes).toBe(0)
  })

  it('passes the first byte beyond the limit on at once, and nothing after it', () => {
    const { memory, chunks } = written([piece(999_999), piece(1), piece(70_000)])
    expect(chunks.map(({ length }) => length)).toEqual([999_999, 1, 1])
    expect(memory.heldBytes).toBe(1_000_001)
  })
})

describe.each(HOST_NAMES)('unfinished bodies in %s', (hostName) => {
  it('are answered 503 beyond maxBufferedBytes, and small ones still have room', async () => {
    const { port, send, outcomes, log } = await runReceiver({
      in: hostName,
      ...LIMITS,
      bodyTimeoutMs: 60_000,
    })
    const slow = await Promise.all(Array.from({ length: 10 }, () => unfinished(port, 90_000)))
    await until(() => outcomes.length === 7)
    expect(new Set(outcomes.map(({ code }) => code))).toEqual(new Set(['ERR_BODY_MEMORY_FULL']))
    const answered = slow.filter(({ received }) => received() !== '')
    for (const { received } of answered) {
      expect(received()).toMatch(/^HTTP\/1\.1 503 [^]*\r\nRetry-After: 10\r\nConnection: close\r\n/)
    }
    expect(log.withCode('ERR_BODY_MEMORY_FULL')).toHaveLength(7)
    expect(await send(genuine())).toMatchObject({ status: 200 })

    slow.forEach(({ socket }) => socket.destroy())
    await until(() => outcomes.length === 11)
    expect(await send(genuine({ payload: { Id: 'x'.repeat(90_000) } }))).toMatchObject({ status: 200 })
  })
})

it('a body counts until its request is answered, and no longer', async () => {
  const found = deferred()
  const { send, outcomes } = await runReceiver({
    ...LIMITS,
    subscriptions: async () => {
      await found.promise
      return [subscription]
    },
  })
  const large = () => genuine({ payload: { Id: 'x'.repeat(99_000) }, headers: { Authorization: FORGED } })
  const answers = Array.from({ length: 10 }, () => send(large()))
  await until(() => outcomes.length === 7)
  found.resolve()
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(3)
  expect(statuses.filter((status) => status === 503)).toHaveLength(7)
  expect((await send(large())).status).toBe(401)
})

describe.each([
  ['captureRawBody()', () => captureRawBody({ ...LIMITS, logger: false })],
  ['verifySignature()', () => verifySignature({ subscriptions: [subscription], ...LIMITS, logger: false })],
])('%s on its own', (_which, create) => {
  it('answers 503 beyond maxBufferedBytes', async () => {
    const port = await serve(express().use(create(), (_request, response) => void response.end()))
    const slow = await Promise.all(Array.from({ length: 10 }, () => unfinished(port, 90_000)))
    const refused = () => slow.filter(({ received }) => received().startsWith('HTTP/1.1 503 '))
    await until(() => refused().length === 7)

    slow.forEach(({ socket }) => socket.destroy())
    const large = genuine({ payload: { Id: 'x'.repeat(90_000) } }).toHttp()
    let status
    // The server may notice only after this request that the others have hung up.
    do status = (await sendRawRequest(large, { port })).status
    while (status === 503)
    expect(status).toBe(200)
  })
})

it('captureRawBody() counts the bytes that it left with a request until that is answered', async () => {
  const finish = deferred()
  let waiting = 0
  const app = express().use(captureRawBody({ ...LIMITS, logger: false }), async (_request, response) => {
    waiting++
    await finish.promise
    response.end()
  })
  const port = await serve(app)
  const large = genuine({ payload: { Id: 'x'.repeat(99_000) } }).toHttp()
  const statuses: number[] = []
  const answers = Array.from({ length: 5 }, async () => {
    statuses.push((await sendRawRequest(large, { port })).status)
  })
  await until(() => waiting === 3 && statuses.length === 2)
  finish.resolve()
  await Promise.all(answers)
  expect(statuses).toEqual([503, 503, 200, 200, 200])
  expect((await sendRawRequest(large, { port })).status).toBe(200)
})

describe('captureRawBody() of requests that wait for an earlier answer of their connection', () => {
  const run = async () => {
    const finish = deferred()
    const outcomes: string[] = []
    const log = (fields: object) => outcomes.push((fields as { code: string }).code)
    const logger = { debug: log, info: log, warn: log, error: log }
    const app = express()
      .get('/slow', async (_request, response) => {
        await finish.promise
        response.end()
      })
      .use(captureRawBody({ ...LIMITS, logger }), (_request, response) => {
        outcomes.push('kept')
        response.end()
      })
    const port = await serve(app)
    const opened = await connection(port)
    const large = genuine({ payload: { Id: 'x'.repeat(99_000) } }).toHttp()
    opened.socket.write('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n')
    opened.socket.write(Buffer.concat(Array.from({ length: 5 }, () => large)))
    await until(() => outcomes.length === 5)
    return { opened, finish, outcomes, send: () => sendRawRequest(large, { port }) }
  }
  const FULL = ['kept', 'kept', 'kept', 'ERR_BODY_MEMORY_FULL', 'ERR_BODY_MEMORY_FULL']

  it('counts their bytes until they are answered', async () => {
    const { opened, finish, outcomes, send } = await run()
    expect(outcomes).toEqual(FULL)
    expect((await send()).status).toBe(503)
    finish.resolve()
    await opened.receives(/200 OK[^]*200 OK[^]*200 OK[^]*200 OK[^]*503 /)
    expect((await send()).status).toBe(200)
  })

  it('counts their bytes until the connection is closed', async () => {
    const { opened, outcomes, send } = await run()
    expect(outcomes).toEqual(FULL)
    opened.socket.destroy()
    let status
    // The server may notice only after this request that the connection is closed.
    do status = (await send()).status
    while (status === 503)
    expect(status).toBe(200)
  })
})

/** A callback with a well-formed Authorization that nobody's secret gives, without the last bytes of its body. */
async function unfinished(port: number, bytes: number): Promise<Connection> {
  const opened = await connection(port)
  const callback = genuine({ body: Buffer.alloc(bytes + 10, ' '), headers: { Authorization: FORGED } })
  opened.socket.write(callback.toHttp().subarray(0, -10))
  return opened
}

describe('maxBufferedBytes', () => {
  it.each([
    ['captureRawBody', (limits: object) => captureRawBody(limits)],
    ['verifySignature', (limits: object) => verifySignature({ subscriptions: [subscription], ...limits })],
    ['createReceiver', (limits: object) => createReceiver({ subscriptions: [subscription], ...limits })],
  ])('%s: has to have room for two of the largest bodies, and by default has', (owner, create) => {
    expect(() => create({ maxBodyBytes: 1_000, maxBufferedBytes: 1_999 })).toThrow(
      `${owner}: maxBufferedBytes is 1999: use at least twice maxBodyBytes (2000), or lower that.`,
    )
    expect(() => create({ maxBodyBytes: 1_000, maxBufferedBytes: 2_000 })).not.toThrow()
    expect(() => create({ maxBodyBytes: 1_000_000_000 })).not.toThrow()
  })
})
