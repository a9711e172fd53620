import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { collectedLog } from '../support/collected-log.js'
import { createReceiver } from '../../src/index.js'
import { createClient } from '../../src/client/index.js'
import { MemoryIdempotencyStore } from '../../src/index.js'
import { subscription } from '../support/subscription.js'
import { LIMIT_MS } from '../support/until.js'

const SETUP = `
  import { createServer, Agent, request } from 'node:http'
  import { once } from 'node:events'
  import { captureRawBody, createReceiver, verifySignature } from 'countersign'
  import { signedCallback } from 'countersign/testing'
  const subscription = {
    eventTypeName: 'a.b', callbackUrl: 'https://partner.example.com/hooks?token=query', secret: 'a long secret text',
  }
  const serve = async (listener) => {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 10 })
  const send = (server, { path, headers, body }) => new Promise((resolve, reject) => {
    const { port } = server.address()
    request({ port, agent, path, headers, method: 'POST' }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    }).on('error', reject).end(body)
  })
`
const args = (program: string) => ['--input-type=module', '--eval', SETUP + program]

function run(program: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args(program), {
    encoding: 'utf8',
    timeout: LIMIT_MS,
  })
  return { status, stdout, lines: stderr.split('\n').filter(Boolean) }
}

const EVERYTHING = `
  receiver.on('a.b', () => { if (fails) throw new Error('with a long secret text in it\\nand a line') })
  let fails = false
  await receiver.start()
  const server = await serve(receiver.requestListener())
  await send(server, signedCallback({ subscription }))
  await send(server, signedCallback({ subscription: { ...subscription, secret: 'another text' } }))
  fails = true
  await send(server, signedCallback({ subscription }))
  agent.destroy()
  server.close()
  await receiver.stop()
`

/** More than the pipe, its reader and the program keep, which is less than 400 KB. */
const FILLS_STANDARD_ERROR = `{ for (let i = 0; i < 150; i++) logger.warn({ text: 'x'.repeat(4_000) }, 'written') }`

describe('without a logger', () => {
  it('warnings and errors are lines on standard error, and what went right is not', () => {
    const { status, stdout, lines } = run(
      `const receiver = createReceiver({ subscriptions: [subscription] })${EVERYTHING}`,
    )
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
    // It may come before the last line or after it.
    const isExplanation = (line: string) =>
      line.startsWith('countersign: WARN_SIGNATURE_EXPLAINED a signature did not match (likely): ')
    expect(lines.filter(isExplanation)).toHaveLength(1)
    expect(lines.filter((line) => !isExplanation(line))).toEqual([
      expect.stringMatching(
        /^countersign: ERR_SIGNATURE_MISMATCH callback refused outcome=refused status=401 reason=".*" verified=false idempotencyKey=\S+ eventType=a\.b durationMs=\S+$/,
      ),
      expect.stringMatching(
        /^countersign: ERR_HANDLER_FAILED callback failed .* subscription=.* durationMs=\S+ err="Error: with \[hidden\] in it\\nand a line at .*"$/,
      ),
    ])
    expect(lines.join()).not.toMatch(/undefined|query|a long secret text/)
  })

  it('verifySignature and captureRawBody do the same', () => {
    const { status, lines } = run(`
      for (const middleware of [verifySignature({ subscriptions: [subscription] }), captureRawBody()]) {
        const server = await serve((request, response) => middleware(request, response, () => response.end()))
        await send(server, { path: '/', headers: {}, body: 'x' })
        server.close()
      }
      agent.destroy()`)
    expect(status).toBe(0)
    const refused = expect.stringMatching(/^countersign: ERR_AUTHORIZATION_MISSING callback refused /)
    expect(lines).toEqual([refused, refused])
  })

  it('warnings of the set-up are there, too', () => {
    const { lines } = run(`
      await createReceiver({ subscriptions: [{ ...subscription, secret: 'c2VjcmV0IHRleHQ=' }] }).start()`)
    expect(lines).toEqual([
      expect.stringMatching(/^countersign: WARN_SECRET_LOOKS_LIKE_BASE64 a secret looks like the Base64 /),
      expect.stringMatching(/^countersign: WARN_HANDLER_MISSING no handler is registered: /),
    ])
    expect(lines.join()).not.toContain('c2Vjcm')
  })

  it('nothing is written with logger: false', () => {
    expect(
      run(`const receiver = createReceiver({ subscriptions: [subscription], logger: false })${EVERYTHING}`),
    ).toEqual({ status: 0, stdout: '', lines: [] })
  })

  it('a reader of standard error that stands still holds up neither callbacks nor the end', async () => {
    const program = `
      const receiver = createReceiver({ subscriptions: [subscription], logRefusalsPerSecond: 1_000_000 })
      receiver.onAny((event, { logger }) => ${FILLS_STANDARD_ERROR})
      const server = await serve(receiver.requestListener())
      const statuses = [await send(server, signedCallback({ subscription }))]
      for (let i = 0; i < 10; i++) statuses.push(await send(server, { path: '/', headers: {}, body: 'x' }))
      process.stdout.write(JSON.stringify([...new Set(statuses)]) + ' ' + (process.stderr.writableLength < 100_000))
      process.stdin.once('data', async () => {
        agent.destroy()
        server.close()
        await receiver.stop()
        process.exit(0)
      })`
    const child = spawn(process.execPath, args(program), { stdio: 'pipe' })
    const [answered] = (await once(child.stdout, 'data')) as [Buffer]
    expect(answered.toString()).toBe('[200,401] true')
    const exit = once(child, 'exit')
    child.stdin.write('end')
    expect(await exit).toEqual([0, null])
    child.stderr.destroy()
  })

  it('says how many lines were dropped once standard error is read again', async () => {
    const program = `
      const receiver = createReceiver({ subscriptions: [subscription] })
      receiver.onAny((event, { logger }) => ${FILLS_STANDARD_ERROR})
      const server = await serve(receiver.requestListener())
      await send(server, signedCallback({ subscription }))
      process.stdout.write('stalled')
      await new Promise((resolve) => process.stderr.once('drain', resolve))
      await send(server, { path: '/', headers: {}, body: 'x' })
      process.exit(0)`
    const child = spawn(process.execPath, args(program), { stdio: 'pipe' })
    await once(child.stdout, 'data')
    let output = ''
    child.stderr.on('data', (bytes: Buffer) => (output += bytes.toString()))
    expect(await once(child, 'close')).toEqual([0, null])
    expect(output).toMatch(/countersign: WARN_LOG_LINES_DROPPED .* dropped=\d+\n/)
  })

  it('a reader of standard error that is gone ends nothing', async () => {
    const program = `
      process.stdin.once('data', async () => {
        const receiver = createReceiver({ subscriptions: [subscription] })
        const server = await serve(receiver.requestListener())
        const statuses = []
        for (let i = 0; i < 3; i++) statuses.push(await send(server, { path: '/', headers: {}, body: 'x' }))
        process.stdout.write(statuses.join())
        process.exit(0)
      })
      process.stdout.write('ready')`
    const child = spawn(process.execPath, args(program), { stdio: 'pipe' })
    await once(child.stdout, 'data')
    child.stderr.destroy()
    await once(child.stderr, 'close')
    const exit = once(child, 'close')
    child.stdin.write('begin')
    const [statuses] = (await once(child.stdout, 'data')) as [Buffer]
    expect(statuses.toString()).toBe('401,401,401')
    expect(await exit).toEqual([0, null])
  })
})

describe('the logger option', () => {
  const client = {
    baseUrl: 'https://service.example',
    clientId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
    clientSecret: 'abc',
  }
  const makers: [string, (logger: never) => unknown][] = [
    ['createReceiver', (logger) => createReceiver({ subscriptions: [subscription], logger })],
    ['MemoryIdempotencyStore', (logger) => new MemoryIdempotencyStore({ retentionMs: 1, logger })],
    ['createClient', (logger) => createClient({ ...client, logger })],
  ]

  it.each(makers)('of %s is a logger, false, or left out', (_name, make) => {
    for (const logger of [undefined, false, console, collectedLog()])
      expect(() => make(logger as never)).not.toThrow()
    for (const logger of [true, 'console', {}])
      expect(() => make(logger as never)).toThrow(expect.objectContaining({ code: 'ERR_OPTION_INVALID' }))
  })
})
