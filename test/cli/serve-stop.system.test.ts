import { itBeside } from '../support/it-beside.js'
import { configModule, deliver } from './configured.js'
import { createGate, type Gate } from './gate.js'
import { Sandbox, type Serving } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const KEY = '6f1c1d2a-3b4c-4d5e-8f60-718293a4b5c6'
const WAITS = `await fetch(process.env.GATE); logger.info({}, 'through the gate')`

async function serving(
  handler: string,
  options = '',
  box = sandbox,
): Promise<{ serve: Serving; gate: Gate; port: number }> {
  const gate = await createGate(box)
  const cwd = await box.directory({ 'countersign.config.mjs': configModule(handler, options) })
  const serve = box.serve([], { cwd, env: { GATE: gate.url } })
  return { serve, gate, port: await serve.port() }
}

const isStopping = ({ msg }: { msg: string }) => msg.startsWith('stopping')

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('lets a running handler finish and its callback be answered, and then ends with 0', async () => {
    const { serve, gate, port } = await serving(WAITS)
    const answer = deliver(port)
    await gate.reached
    serve.signal(signal)
    expect(await serve.line(isStopping)).toMatchObject({ signal })
    gate.open()
    expect(await answer).toEqual({ status: 200 })
    expect(await serve.exit).toBe(0)
    const messages = serve.lines.map(({ msg }) => msg)
    expect(messages.slice(-4)).toEqual([
      expect.stringMatching('stopping'),
      'through the gate',
      'callback handled',
      'stopped',
    ])
  })

  it('ends the process at once, and not with 0, when it comes a second time', async () => {
    const { serve, gate, port } = await serving(WAITS)
    const answer = deliver(port).catch(() => 'cut off')
    await gate.reached
    serve.signal(signal)
    await serve.line(isStopping)
    serve.signal(signal)
    expect(await serve.exit).toBe(1)
    expect(await answer).toBe('cut off')
    expect(serve.lines.at(-1)).toMatchObject({
      level: 'warn',
      signal,
      msg: 'a second signal: ending immediately',
    })
  })
})

it.each([
  ['serve', 'SIGTERM'],
  ['serve', 'SIGINT'],
  ['work', 'SIGTERM'],
] as const)('%s ends with 0 on %s while its configuration still loads', async (command, signal) => {
  const gate = await createGate(sandbox)
  const config = 'await fetch(process.env.GATE); export default {}'
  const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
  const running = sandbox[command]([], { cwd, env: { GATE: gate.url } })
  await gate.reached
  running.signal(signal)
  expect(await running.exit).toBe(0)
})

describe('stopping', () => {
  it('ends at once when nothing runs', async () => {
    const { serve } = await serving('')
    serve.signal('SIGTERM')
    expect(await serve.exit).toBe(0)
  })

  it('does not wait for connections that are open and idle', async () => {
    const { serve, port } = await serving('')
    await (await fetch(`http://127.0.0.1:${port}/healthz`)).text()
    serve.signal('SIGTERM')
    expect(await serve.exit).toBe(0)
  })

  it('aborts a handler that takes longer than stopTimeoutMs', async () => {
    const { serve, gate, port } = await serving(
      'await fetch(process.env.GATE, { signal })',
      'stopTimeoutMs: 100,',
    )
    const answer = deliver(port)
    await gate.reached
    serve.signal('SIGTERM')
    await serve.line(({ code }) => code === 'WARN_STOP_TIMEOUT')
    expect(await answer).toEqual({ status: 500 })
    expect(await serve.exit).toBe(0)
  })
})

describe('an error that nobody caught', () => {
  const ERROR = `Object.assign(new Error('out of nowhere'), { config: { apiKey: 'extra-of-an-error' } })`

  it.each([
    ['an exception', `setImmediate(() => { throw ${ERROR} })`],
    ['a rejection', `void Promise.reject(${ERROR})`],
  ])('is logged without its extras and ends the process with 1: %s', async (_what, code) => {
    const { serve, port } = await serving(code)
    await deliver(port).catch(() => 'cut off')
    expect(await serve.exit).toBe(1)
    const line = await serve.line(({ level }) => level === 'fatal')
    expect(line).toMatchObject({
      msg: 'uncaught error: stopping',
      err: { message: 'out of nowhere' },
    })
    expect(serve.output).not.toContain('extra-of-an-error')
  })

  it('lets the handlers that run beside it finish', async () => {
    const { serve, gate, port } = await serving(
      `if (event.payload.bad) setImmediate(() => { throw ${ERROR} }); else { ${WAITS} }`,
    )
    const answer = deliver(port)
    await gate.reached
    await deliver(port, { payload: { Id: 'bad', bad: true } }).catch(() => 'cut off')
    await serve.line(({ level }) => level === 'fatal')
    gate.open()
    expect(await answer).toEqual({ status: 200 })
    expect(await serve.exit).toBe(1)
  })
})

// The process waits for a second.
itBeside(
  'stopping leaves a handler behind that does not listen to its signal, and answers its sender',
  async () => {
    const box = new Sandbox()
    try {
      const { serve, gate, port } = await serving(WAITS, 'stopTimeoutMs: 100,', box)
      const answer = deliver(port, { idempotencyKey: KEY })
      await gate.reached
      serve.signal('SIGTERM')
      expect(await serve.exit).toBe(0)
      expect(await answer).toEqual({ status: 503 })
      expect(serve.lines.filter(({ code }) => code === 'WARN_STOP_TIMEOUT')).toMatchObject([
        { msg: 'callbacks are still in progress: the signals of their handlers are aborted' },
        { status: 503, idempotencyKey: KEY, eventType: 'transfers.book-completed' },
      ])
    } finally {
      await box.clean()
    }
  },
  60_000,
)
