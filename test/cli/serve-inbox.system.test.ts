import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { configModule, deliver, SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const MAIN = pathToFileURL(join(__dirname, '../../dist/index.js')).href
const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const CONFIG = `export default {
  subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
  handlers: { 'transfers.book-completed': (event, { logger }) => logger.info({}, 'handled ' + event.payload.Id) },
}`

describe('countersign serve', () => {
  it('has an inbox beside the configuration unless it is told otherwise, and is ready once that is open', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': CONFIG })
    const serve = sandbox.serve([], { cwd })
    const port = await serve.port()
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
    expect(await deliver(port, { payload: { Id: 'one' } })).toEqual({ status: 200 })
    await serve.line(({ outcome }) => outcome === 'stored')
    await serve.line(({ msg }) => msg === 'handled one')
    await serve.line(({ msg }) => msg === 'entry handled')
    // It holds payloads: nobody else's business.
    expect(statSync(join(cwd, 'callbacks.db')).mode & 0o777).toBe(0o600)
  })

  it('remembers across a restart what it has handled', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': CONFIG })
    const again = { idempotencyKey: '0b5bcbd6-4a39-4bd7-8b5a-1d4a4a3f3b10', payload: { Id: 'one' } }
    const first = sandbox.serve([], { cwd })
    await deliver(await first.port(), again)
    await first.line(({ msg }) => msg === 'entry handled')
    first.signal('SIGTERM')
    await first.exit

    const second = sandbox.serve([], { cwd })
    expect(await deliver(await second.port(), again)).toEqual({ status: 200 })
    await second.line(({ outcome }) => outcome === 'duplicate')
  })

  it('gives a handlers function the hooks and the events of the receiver', async () => {
    const handlers = `
      import { DoNotRetryError } from ${JSON.stringify(MAIN)}
      export default ({ on, onHandled, onDeadLetter, onQuarantined, onOutcome, onError, events }) => {
        const say = (...words) => console.log(JSON.stringify({ msg: ['hook', ...words].join(' ') }))
        on('transfers.book-completed', ({ payload }) => {
          if (payload.Id === 'hopeless') throw new DoNotRetryError('no')
        })
          .onHandled(({ callback }) => say('handled', callback.idempotencyKey))
          .onDeadLetter(({ reason }) => say('dead', reason))
        onQuarantined(({ outcome }) => say('quarantined', outcome.code)).onOutcome(() => {})
        onError((_error, { code }) => say('error', code))
        events.on('claimed', ({ attempt }) => say('claimed', attempt))
      }`
    const config = `export default {
      subscriptions: [${JSON.stringify(SUBSCRIPTION)}], handlers: './handlers.mjs' }`
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config, 'handlers.mjs': handlers })
    const serve = sandbox.serve([], { cwd })
    const port = await serve.port()
    const idempotencyKey = '0b5bcbd6-4a39-4bd7-8b5a-1d4a4a3f3b10'
    await deliver(port, { idempotencyKey })
    await serve.line(({ msg }) => msg === 'hook claimed 1')
    await serve.line(({ msg }) => msg === `hook handled ${idempotencyKey}`)
    await deliver(port, { payload: { Id: 'hopeless' } })
    await serve.line(({ msg }) => msg?.startsWith('hook dead') === true)
    await serve.line(({ msg }) => msg === 'hook error ERR_HANDLER_FAILED')
    await deliver(port, { body: Buffer.from('no JSON') })
    await serve.line(({ msg }) => msg === 'hook quarantined ERR_BODY_NOT_JSON')
  })

  it('takes the name of the file from the command line', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': configModule('') })
    await sandbox.serve(['--inbox', 'other.db'], { cwd }).port()
    expect(existsSync(join(cwd, 'other.db'))).toBe(true)
  })

  it('ends with a clear error when the inbox cannot be opened', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': CONFIG })
    const { code, stderr } = await countersign(
      ['serve', '--port', '0', '--inbox', 'no/such/directory/a.db'],
      { cwd },
    )
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/a\.db cannot be opened/)
    expect(stderr).not.toMatch(/ at .*\.js/)
  })

  it('--check says where callbacks are kept, and makes no file', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': CONFIG })
    const { code, stdout } = await countersign(['serve', '--check'], { cwd })
    expect(code).toBe(0)
    expect(stdout).toMatch(/inbox: .*callbacks\.db/)
    expect(existsSync(join(cwd, 'callbacks.db'))).toBe(false)
  })
})
