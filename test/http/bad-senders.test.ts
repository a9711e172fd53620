import { createReceiver } from '../../src/index.js'
import { parseServerOptions, startReceiverServer } from '../../src/server/server.js'
import { connection } from '../support/connection.js'
import { deferred } from '../support/deferred.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { HOST_NAMES } from '../support/hosts.js'
import { cut, withLines } from '../support/http-bytes.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const FULL_STOP = /\r\n\r\n$/

describe.each(HOST_NAMES)('in %s', (hostName) => {
  describe('a sender that hangs up half way', () => {
    it.each([
      ['after the head', 0],
      ['within the body', 10],
    ])('%s is refused without a fuss', async (_where, bytes) => {
      const { port, outcomes, handled, log, send } = await runReceiver({ in: hostName })
      const { socket } = await connection(port)
      const { body, toHttp } = genuine()
      socket.write(toHttp().subarray(0, bytes - body.length), () => socket.resetAndDestroy())

      await until(() => outcomes.length === 1)
      expect(outcomes[0]?.code).toBe('ERR_BODY_ABORTED')
      expect(handled).toEqual([])
      expect(log.lines.map(({ level }) => level)).toEqual(['warn'])
      expect(log.text()).not.toContain('stack')
      expect(await send(genuine())).toMatchObject({ status: 200 })
    })

    it('within a chunked body is not taken for one that has finished', async () => {
      const { port, outcomes, handled } = await runReceiver({ in: hostName })
      const { socket } = await connection(port)
      // All of the body is there, and only the chunk that ends it is missing.
      socket.end(genuine().toHttp({ chunked: true }).subarray(0, -5))

      await until(() => outcomes.length === 1)
      expect(outcomes[0]?.code).toBe('ERR_BODY_ABORTED')
      expect(handled).toEqual([])
    })

    it('behind a complete callback has it handled all the same', async () => {
      const finish = deferred()
      const { port, outcomes, handled } = await runReceiver({ in: hostName, handler: () => finish.promise })
      const { socket, closed } = await connection(port)
      socket.write(genuine().toHttp())
      await until(() => handled.length === 1)
      socket.resetAndDestroy()
      await closed
      finish.resolve()

      await until(() => outcomes.length === 1)
      expect(outcomes[0]?.code).toBe('HANDLED')
    })

    it('in one direction only still gets its answer', async () => {
      const { port } = await runReceiver({ in: hostName })
      const { socket, received, closed } = await connection(port)
      socket.end(genuine().toHttp())
      await closed
      expect(received()).toMatch(/^HTTP\/1\.1 200 /)
    })
  })

  it('a body that comes a byte at a time is given up when its time is up', async () => {
    const { port, outcomes, handled } = await runReceiver({ in: hostName, bodyTimeoutMs: 100 })
    const { socket, received, closed } = await connection(port)
    const { body, toHttp } = genuine()
    const request = toHttp()
    let sent = request.length - body.length
    socket.write(request.subarray(0, sent))
    // Each byte comes well within the time that all of them have.
    const trickle = setInterval(() => {
      if (sent < request.length - 1) socket.write(request.subarray(sent, ++sent))
    }, 20)
    await closed
    clearInterval(trickle)

    expect(received()).toMatch(/^HTTP\/1\.1 408 /)
    expect(sent).toBeLessThan(request.length - 1)
    expect(outcomes.map(({ code }) => code)).toEqual(['ERR_BODY_TIMEOUT'])
    expect(handled).toEqual([])
  })

  describe('several requests in one write', () => {
    it('are answered in their order, also when a later one is done first', async () => {
      const finish = deferred()
      let first = true
      const { port, outcomes } = await runReceiver({
        in: hostName,
        handler() {
          const isFirst = first
          first = false
          return isFirst ? finish.promise : undefined
        },
      })
      const { socket, received, closed } = await connection(port)
      const forged = genuine({ headers: { Authorization: null } })
      const last = genuine({ headers: { Connection: 'close' } })
      socket.write(Buffer.concat([genuine(), forged, genuine(), last].map(({ toHttp }) => toHttp())))
      await until(() => outcomes.length === 3)
      expect(received()).toBe('')
      finish.resolve()
      await closed

      expect(statuses(received())).toEqual([200, 401, 200, 200])
      const codes = outcomes.map(({ code }) => code)
      expect(codes.sort()).toEqual(['ERR_AUTHORIZATION_MISSING', 'HANDLED', 'HANDLED', 'HANDLED'])
    })

    it('do not begin within the body of one that was refused', async () => {
      const { port, handled, outcomes } = await runReceiver({ in: hostName })
      const { socket, received, closed } = await connection(port)
      const hidden = genuine().toHttp()
      const forged = genuine({ body: hidden, headers: { Authorization: null } })
      const last = genuine({ headers: { Connection: 'close' } })
      socket.write(Buffer.concat([forged.toHttp(), last.toHttp()]))
      await closed

      expect(statuses(received())).toEqual([401, 200])
      expect(outcomes).toHaveLength(2)
      expect(handled.map(({ rawBody }) => rawBody)).toEqual([last.body])
    })

    it('each get an answer when the first body is refused before it has arrived', async () => {
      const { port } = await runReceiver({ in: hostName })
      const { socket, received, receives, closed } = await connection(port)
      const { body, toHttp } = genuine({ headers: { Authorization: null } })
      const [head, rest] = cut(toHttp(), toHttp().length - body.length)
      socket.write(head!)
      await receives(/^HTTP\/1\.1 401 /)
      socket.write(Buffer.concat([rest!, genuine({ headers: { Connection: 'close' } }).toHttp()]))
      await closed
      expect(statuses(received())).toEqual([401, 200])
    })
  })

  it('whose head says HTTP/2.0 over HTTP/1.1 does not end the process', async () => {
    const { port, send } = await runReceiver({ in: hostName })
    const { socket, receives } = await connection(port)
    const { body, toHttp } = genuine({ headers: { Authorization: null } })
    socket.write(toHttp().toString('latin1').replace('HTTP/1.1', 'HTTP/2.0').slice(0, -body.length))
    // Fastify 4 accepts no such version.
    await receives(hostName === 'Fastify 4' ? / 505 [^]*}$/ : / 401 [^]*}$/)
    // The event loop ends an iteration before it reads the next request.
    expect(await send(genuine())).toMatchObject({ status: 200 })
  })

  it('refuses a length and chunks in one request', async () => {
    const { send, outcomes } = await runReceiver({ in: hostName })
    const request = withLines(genuine().toHttp(), 'Transfer-Encoding: chunked')
    expect(await send(request)).toMatchObject({ status: 400 })
    expect(outcomes).toEqual([])
  })

  it('sends a body that waits for 100 Continue on its way, and takes it', async () => {
    const { port } = await runReceiver({ in: hostName })
    const { socket, received, receives } = await connection(port)
    const { body, toHttp } = genuine({ headers: { Expect: '100-continue' } })
    socket.write(toHttp().subarray(0, -body.length))
    await receives(FULL_STOP)
    expect(received()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write(body)
    await receives(/200 OK/)
    socket.write(genuine().toHttp())
    await receives(/200 OK[^]*200 OK/)
  })

  it('refuses any other expectation', async () => {
    const { send, handled } = await runReceiver({ in: hostName })
    expect(await send(genuine({ headers: { Expect: 'a miracle' } }))).toMatchObject({ status: 417 })
    expect(handled).toEqual([])
  })
})

describe('the standalone server', () => {
  it.each([
    ['without Authorization', { Authorization: null }, 401],
    ['that is too large', { 'Content-Length': '60000000' }, 413],
    ['that is compressed', { 'Content-Encoding': 'gzip' }, 415],
  ])('does not ask for the body of a callback %s', async (_which, headers, status) => {
    const { port } = await runReceiver({ in: 'the standalone server' })
    const { socket, received, receives } = await connection(port)
    const { body, toHttp } = genuine({ headers: { Expect: '100-continue', ...headers } })
    socket.write(toHttp().subarray(0, -body.length))
    await receives(/\r\n\r\n.*}$/)
    expect(statuses(received())).toEqual([status])
  })

  it('does not ask for a body while it is stopping', async () => {
    const { port, receiver } = await runReceiver({ in: 'the standalone server' })
    const { socket, received, closed } = await connection(port)
    await receiver.stop()
    const { body, toHttp } = genuine({ headers: { Expect: '100-continue' } })
    socket.write(toHttp().subarray(0, -body.length))
    await closed
    expect(statuses(received())).toEqual([503])
  })

  it('gives up a sender that never comes to the end of its head', async () => {
    const receiver = createReceiver<object>({ subscriptions: [subscription] }).onAny(() => {})
    const { address, close } = await startReceiverServer(
      receiver,
      60_000,
      parseServerOptions({ port: 0, headersTimeoutMs: 100 }),
    )
    try {
      const { socket, received, closed } = await connection(address.port)
      socket.write('POST /hooks/transfers HTTP/1.1\r\n')
      await closed
      expect(received()).toMatch(/^HTTP\/1\.1 408 /)
    } finally {
      await close()
    }
  })
})

function statuses(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d\d\d) /g)].map(([, status]) => Number(status))
}

it('takes a body that came in time, when the event loop was blocked until its time was up', async () => {
  const { port } = await runReceiver({ in: 'the standalone server', bodyTimeoutMs: 10_000 })
  fakeTimeouts()
  const { socket, receives } = await connection(port)
  const { body, toHttp } = genuine({ headers: { Expect: '100-continue' } })
  socket.write(toHttp().subarray(0, -body.length))
  await receives(/100 Continue/)
  socket.write(body)
  // All at once, before the event loop can read what has arrived.
  jest.advanceTimersByTime(10_000)
  await receives(/HTTP\/1\.1 [2-5]\d\d /)
  await receives(/200 OK/)
})

it('gives up a body in thousands of chunks when its time is up, also while they keep the event loop busy', async () => {
  const { port, outcomes } = await runReceiver({ in: 'the standalone server', bodyTimeoutMs: 200 })
  const { socket, received, receives, closed } = await connection(port)
  const { toHttp } = genuine({ headers: { Expect: '100-continue' } })
  const request = toHttp({ chunked: true })
  socket.write(request.subarray(0, request.indexOf('\r\n\r\n') + 4))
  await receives(/100 Continue/)
  socket.write(Buffer.from(`${'1\r\n \r\n'.repeat(2_000)}0\r\n\r\n`))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  await closed
  expect(received()).toMatch(/HTTP\/1\.1 408 /)
  expect(outcomes.map(({ code }) => code)).toEqual(['ERR_BODY_TIMEOUT'])
})
