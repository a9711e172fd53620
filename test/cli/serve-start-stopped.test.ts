import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SUBSCRIPTION } from './configured.js'
import { Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const MAIN = pathToFileURL(join(__dirname, '../../dist/esm/index.js')).href

it('a start that fails after a signal ends the process with its message', async () => {
  const config = `
    import { MemoryInbox } from ${JSON.stringify(MAIN)}
    const inbox = new MemoryInbox()
    inbox.open = () => {
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
