import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { deliver, SUBSCRIPTION } from './configured.js'
import { createGate } from './gate.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const HANDLERS = `
  handlers: (registry) => registry
    .on('transfers.book-completed', async (event, { logger }) => {
      if (process.env.GATE) await fetch(process.env.GATE)
      logger.info({}, 'handled ' + event.payload.Id)
    })
    .onOutcome(() => { throw new Error('a worker answers no requests') }),`

function config(options = '', handlers = HANDLERS): string {
  const { secret: _, ...subscription } = SUBSCRIPTION
  const subscriptions = `[{ ...${JSON.stringify(subscription)}, secret: { env: 'CALLBACK_SECRET' } }]`
  return `export default { subscriptions: ${subscriptions}, pollMs: 20, ${handlers} ${options} }`
}

const SECRET = { CALLBACK_SECRET: SUBSCRIPTION.secret }

/** Stores a callback in the inbox of the configuration, as a receiver does. */
async function store(cwd: string): Promise<void> {
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  await inbox.add(arrival({ body: '{"Id":"one"}' }))
  await inbox.close()
}

describe('countersign work', () => {
  it('refuses one address for health checks and metrics', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config() })
    const { code, stderr } = await countersign(['work', '--health-port', '4000', '--admin-port', '4000'], {
      cwd,
    })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'countersign: --admin-port: admin: port is 4000: use another port, because healthPort is 4000 as well.\n',
    })
  })

  it('handles what a receiver that only stores has accepted, from the same configuration and without a secret', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config() })
    const serve = sandbox.serve(['--no-worker'], { cwd, env: SECRET })
    const port = await serve.port()
    const work = sandbox.work([], { cwd })
    await work.line(({ msg }) => msg === 'working')
    expect(await deliver(port, { payload: { Id: 'one' } })).toEqual({ status: 200 })
    await serve.line(({ outcome }) => outcome === 'stored')
    await work.line(({ msg }) => msg === 'handled one')
    await work.line(({ msg }) => msg === 'entry handled')
    expect(serve.output).not.toContain('handled one')
    expect(work.lines.filter(({ level }) => level !== 'info')).toEqual([])
  })

  it('answers health checks, is not ready while it stops, and lets a running handler finish', async () => {
    const gate = await createGate(sandbox)
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config() })
    const work = sandbox.work(['--health-port', '0'], { cwd, env: { GATE: gate.url } })
    const [, healthPort] = await work.outputMatch(/health checks on http:\/\/127\.0\.0\.1:(\d+)/)
    const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${healthPort}${path}`)).status
    await work.line(({ msg }) => msg === 'working')
    expect(await Promise.all(['/healthz', '/readyz', '/'].map(statusOf))).toEqual([200, 200, 404])

    await store(cwd)
    await gate.reached
    work.signal('SIGTERM')
    await work.line(({ msg }) => msg.startsWith('stopping'))
    expect(await Promise.all(['/healthz', '/readyz'].map(statusOf))).toEqual([200, 503])
    gate.open()
    expect(await work.exit).toBe(0)
    expect(work.lines.map(({ msg }) => msg).slice(-3)).toEqual(['handled one', 'entry handled', 'stopped'])
  })

  it('ends at once and with 1 on a second signal', async () => {
    const gate = await createGate(sandbox)
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config() })
    await store(cwd)
    const work = sandbox.work([], { cwd, env: { GATE: gate.url } })
    await gate.reached
    work.signal('SIGTERM')
    await work.line(({ msg }) => msg.startsWith('stopping'))
    work.signal('SIGTERM')
    expect(await work.exit).toBe(1)
  })

  it.each([
    ['without an inbox', config('inbox: false,'), /there is no inbox/],
    ['without handlers', config('', ''), /there are no handlers/],
    ['with a wrong option', config('concurrency: 0,'), /countersign\.config\.mjs: concurrency is 0/],
    [
      'with an inbox that forgets what receivers accept again',
      config('inbox: { retentionMs: 1000 },'),
      /countersign\.config\.mjs: toleranceMs is 86400000: the inbox remembers for 1000 ms/,
    ],
    [
      'with receivers that accept for longer than the inbox remembers',
      config('toleranceMs: 604_800_000,'),
      /countersign\.config\.mjs: toleranceMs is 604800000: the inbox remembers for 604800000 ms/,
    ],
    [
      'with a port that is none',
      config('healthPort: 65_536,'),
      /countersign\.config\.mjs: healthPort is 65536/,
    ],
  ])('refuses to start %s, with 2', async (_, content, message) => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': content })
    const { code, stderr } = await countersign(['work'], { cwd })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  })

  it('says with 1 that the address of the health checks is in use', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config() })
    const { port } = new URL((await createGate(sandbox)).url)
    const { code, stderr } = await countersign(['work', '--health-port', port], { cwd })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`work: cannot listen on 127.0.0.1 port ${port}`),
    })
  })
})

describe('countersign serve with worker: false', () => {
  it('does not load the handlers, and --check says so', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': config('worker: false,', `handlers: './not-there.mjs',`),
    })
    const { code, stdout } = await countersign(['serve', '--check'], { cwd, env: SECRET })
    expect(code).toBe(0)
    expect(stdout).toMatch(/transfers\.book-completed .* stored only/)
    expect(stdout).toContain('none: another process handles')
    expect(stdout).toContain('no warnings')
  })

  it.each([
    [['--no-worker'], config('inbox: false,'), /--no-worker: worker is false: there is no inbox to store/],
    [[], config('worker: "no",'), /worker is "no": use false/],
  ])('is refused where it makes no sense: %s', async (flags, content, message) => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': content })
    const { code, stderr } = await countersign(['serve', '--check', ...flags], { cwd, env: SECRET })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  })
})
