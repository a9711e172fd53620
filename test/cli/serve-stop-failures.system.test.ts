import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { deliver, SUBSCRIPTION } from './configured.js'
import { Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const MAIN = pathToFileURL(join(__dirname, '../../dist/index.js')).href

it('a start that fails after a signal ends the process with its message', async () => {
  const config = `
    import { MemoryInbox } from ${JSON.stringify(MAIN)}
    const inbox = new MemoryInbox()
    inbox[Symbol.for('countersign.engine')].open = () => {
      const open = setInterval(() => {}, 60_000)
      console.log('opening')
      return new Promise((_, reject) =>
        process.once('SIGTERM', () => {
          clearInterval(open)
          reject(new Error('the database is away'))
        }),
      )
    }
    export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], handlers: {}, inbox }`
  const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
  const serve = sandbox.serve([], { cwd })
  await serve.outputMatch(/opening/)
  serve.signal('SIGTERM')
  expect(await serve.exit).toBe(1)
  expect(serve.output).toContain('countersign: the database is away')
})

it('a stop that fails ends the process with 1, and the log has the error', async () => {
  const config = `
    import { MemoryInbox } from ${JSON.stringify(MAIN)}
    const inbox = new MemoryInbox()
    inbox[Symbol.for('countersign.engine')].close = () => Promise.reject(new Error('the file cannot be closed'))
    export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], handlers: {}, inbox }`
  const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
  const serve = sandbox.serve([], { cwd })
  await serve.port()
  serve.signal('SIGTERM')
  expect(await serve.exit).toBe(1)
  const failure = { level: 'error', msg: 'stopping failed', err: { message: 'the file cannot be closed' } }
  expect(serve.lines.at(-1)).toMatchObject(failure)
})

it('a fault of the memory ends the process, and the next one has what was answered', async () => {
  const config = `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], inbox: 'i.db', worker: false }`
  const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
  const serve = sandbox.serve([], { cwd })
  const port = await serve.port()
  const stored = { idempotencyKey: '6f1c1d2a-3b4c-4d5e-8f60-718293a4b5c6', payload: { Id: '1' } }
  expect(await deliver(port, stored)).toEqual({ status: 200 })
  // The kernel reports the next access to what is mapped with SIGBUS.
  truncateSync(join(cwd, 'i.db-shm'), 0)
  await expect(deliver(port)).rejects.toThrow()
  expect(await serve.exit).toBe(null)
  const next = sandbox.serve([], { cwd })
  expect(await deliver(await next.port(), stored)).toEqual({ status: 200 })
  expect(await next.line(({ code }) => code === 'DUPLICATE')).toMatchObject({ level: 'info' })
})
