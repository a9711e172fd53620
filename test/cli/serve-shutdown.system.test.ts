import { connect, type Socket } from 'node:net'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { connection } from '../support/connection.js'
import { until } from '../support/until.js'
import { configModule, deliver, SUBSCRIPTION } from './configured.js'
import { createGate } from './gate.js'
import { countersign, Sandbox, type Serving } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

async function serving(
  options = '',
  args: string[] = [],
  env: Record<string, string> = {},
  handler = '',
): Promise<{ serve: Serving; port: number }> {
  const cwd = await sandbox.directory({ 'countersign.config.mjs': configModule(handler, options) })
  const serve = sandbox.serve(args, { cwd, env })
  return { serve, port: await serve.port() }
}

const callback = () => signedCallback({ subscription: SUBSCRIPTION }).toHttp()

// The process may read a request before it reads the signal. The answer to that request keeps the connection.
const ANSWERED = /^HTTP\/1\.1 (200 OK\r\n[^]*Content-Length: 0\r\n|503 )/
const ANSWERED_LAST = /^HTTP\/1\.1 (200|503) [^]*\r\nConnection: close\r\n/

describe('SIGTERM loses nothing that had been delivered', () => {
  it('to new connections that the process had not accepted', async () => {
    const { serve, port } = await serving()
    serve.signal('SIGSTOP')
    const senders = await Promise.all(Array.from({ length: 120 }, () => connection(port)))
    await Promise.all(senders.map(({ socket }) => written(socket, callback())))
    serve.signal('SIGTERM')
    serve.signal('SIGCONT')
    await Promise.all(senders.map(({ closed }) => closed))
    expect(senders.filter(({ received }) => !ANSWERED.test(received()))).toEqual([])
    expect(await serve.exit).toBe(0)
  })

  it('to connections that were idle', async () => {
    const { serve, port } = await serving()
    const senders = await Promise.all(Array.from({ length: 20 }, () => connection(port)))
    for (const { socket, receives } of senders) {
      socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
      await receives(/"ok"}$/)
    }
    serve.signal('SIGSTOP')
    await Promise.all(senders.map(({ socket }) => written(socket, callback())))
    serve.signal('SIGTERM')
    serve.signal('SIGCONT')
    await Promise.all(senders.map(({ closed }) => closed))
    const second = senders.map(({ received }) => received().slice(received().lastIndexOf('HTTP/1.1')))
    expect(second.filter((answer) => !ANSWERED.test(answer))).toEqual([])
    expect(await serve.exit).toBe(0)
  })

  it('while every request comes on a connection of its own', async () => {
    const { serve, port } = await serving()
    const ends: string[] = []
    let answers = 0
    const clients = Array.from({ length: 20 }, async () => {
      for (;;) {
        const end = await sendOnce(port)
        if (end !== 'answered') return ends.push(end)
        answers++
      }
    })
    await until(() => answers > 100)
    serve.signal('SIGTERM')
    await Promise.all(clients)
    expect(new Set(ends)).toEqual(new Set(['ECONNREFUSED']))
    expect(await serve.exit).toBe(0)
  })

  it('of which the rest comes after the signal', async () => {
    // While a handler runs, connections are left open for longer than the second in which the rest has to come otherwise.
    const gate = await createGate(sandbox)
    const handler = 'if (event.payload.waits) await fetch(process.env.GATE)'
    const { serve, port } = await serving('', [], { GATE: gate.url }, handler)
    const { socket, received, closed } = await connection(port)
    const request = callback()
    socket.write(request.subarray(0, 40))
    const waiting = deliver(port, { payload: { Id: 'a', waits: true } })
    await gate.reached
    serve.signal('SIGTERM')
    await serve.line(({ msg }) => msg.startsWith('stopping'))
    socket.write(request.subarray(40))
    await closed
    expect(received()).toMatch(ANSWERED_LAST)
    gate.open()
    expect(await waiting).toEqual({ status: 200 })
    expect(await serve.exit).toBe(0)
  })
})

describe('shutdownDelayMs', () => {
  it.each([
    ['the configuration', 'shutdownDelayMs: 60_000,', [], {}],
    ['a flag', '', ['--shutdown-delay-ms', '60000'], {}],
    ['the environment', '', [], { COUNTERSIGN_SHUTDOWN_DELAY_MS: '60000' }],
  ])(
    'from %s: is not ready, and takes callbacks in on connections that it closes',
    async (_where, options, args, env) => {
      const { serve, port } = await serving(options, args, env)
      const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status
      expect(await ready()).toBe(200)
      serve.signal('SIGTERM')
      expect(await serve.line(({ msg }) => msg.startsWith('stopping'))).toMatchObject({
        shutdownDelayMs: 60_000,
      })
      expect(await ready()).toBe(503)
      const { socket, received, closed } = await connection(port)
      socket.write(callback())
      await closed
      expect(received()).toMatch(/^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n/)
      serve.signal('SIGTERM')
      expect(await serve.exit).toBe(1)
    },
  )

  it('ends', async () => {
    const { serve } = await serving('shutdownDelayMs: 50,')
    serve.signal('SIGTERM')
    expect(await serve.exit).toBe(0)
  })

  it('is not waited for after an error that nobody caught', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': configModule(
        `setImmediate(() => { throw new Error('out of nowhere') })`,
        'shutdownDelayMs: 600_000,',
      ),
    })
    const serve = sandbox.serve([], { cwd })
    await deliver(await serve.port()).catch(() => 'cut off')
    expect(await serve.exit).toBe(1)
    expect(serve.lines.at(-1)).toMatchObject({ msg: 'stopped' })
  })

  it('has to be a number of milliseconds', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': configModule('', 'shutdownDelayMs: -1,'),
    })
    const { code, stderr } = await countersign(['serve', '--port', '0'], { cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/shutdownDelayMs is -1: use a whole number from 0/),
    })
  })
})

function written(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}

/** One callback on a connection of its own: whether it was answered, or the error. */
function sendOnce(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    let failure: string | undefined
    socket.setEncoding('latin1').on('data', (data) => {
      text += data
      if (/^HTTP\/1\.1 (200|503) [^]*\r\n\r\n/.test(text)) socket.destroy()
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => (failure = code))
    socket.on('close', () => resolve(text ? 'answered' : (failure ?? 'closed without an answer')))
    socket.write(callback())
  })
}
