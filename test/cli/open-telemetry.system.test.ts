import { pathToFileURL } from 'node:url'
import { openTelemetrySetting } from '../../src/cli/config/settings.js'
import { deliver, SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const SDK = require.resolve('@opentelemetry/sdk-trace-base')
const TYPE = SUBSCRIPTION.eventTypeName

/** With the real SDK, which prints each span. */
const TRACED = `
  import sdk from ${JSON.stringify(pathToFileURL(SDK).href)}
  const spanProcessors = [new sdk.SimpleSpanProcessor({
    export(spans, done) { for (const { name } of spans) console.log('span ' + name); done({ code: 0 }) },
    shutdown: async () => {},
  })]
  export default {
    port: 0,
    subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
    handlers: { ${JSON.stringify(TYPE)}: async () => {} },
    openTelemetry: { tracerProvider: new sdk.BasicTracerProvider({ spanProcessors }) },
  }`

describe('openTelemetry in a configuration', () => {
  it('makes spans of what serve does', async () => {
    const cwd = sandbox.directory({ 'countersign.config.mjs': TRACED })
    const serve = sandbox.serve([], { cwd: await cwd })
    expect(await deliver(await serve.port())).toEqual({ status: 200 })
    for (const operation of ['process', 'receive', 'complete'])
      await serve.outputMatch(new RegExp(`span ${operation} ${TYPE}`))
  })

  it('makes spans of what work does', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': TRACED })
    const serve = sandbox.serve(['--no-worker'], { cwd })
    expect(await deliver(await serve.port())).toEqual({ status: 200 })
    await serve.outputMatch(/span receive /)
    const work = sandbox.work([], { cwd })
    await work.outputMatch(/span process /)
    expect(serve.output).not.toContain('span process')
  })

  it('is checked by serve --check, with the file as the origin of a wrong option', async () => {
    const config = (value: string) =>
      `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], openTelemetry: ${value} }`
    const check = async (value: string) =>
      countersign(['serve', '--check'], {
        cwd: await sandbox.directory({ 'countersign.config.mjs': config(value) }),
      })
    const wrong = await check('{ trustTraceparents: true }')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(
      /countersign\.config\.mjs: openTelemetry has no option "trustTraceparents".*Did you mean "trustTraceparent"/,
    )
    expect((await check('"yes"')).stderr).toMatch(/openTelemetry is "yes": use true, false, or an object/)
    expect((await check('true')).code).toBe(0)
  })

  it('loads nothing unless asked for, and names the package that is missing', async () => {
    const load = jest.fn(() => Promise.reject(new Error('Cannot find package')))
    const origin = () => 'countersign.config.mjs'
    expect(await openTelemetrySetting(undefined, origin, load)).toBeUndefined()
    expect(await openTelemetrySetting(false, origin, load)).toBeUndefined()
    expect(load).not.toHaveBeenCalled()
    await expect(openTelemetrySetting(true, origin, load)).rejects.toMatchObject({
      code: 'ERR_CONFIG_INVALID',
      message: expect.stringContaining('npm install @opentelemetry/api'),
    })
  })
})
