import { once } from 'node:events'
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { samplesOf } from '../telemetry/samples.js'
import { configModule, deliver, SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const inDirectory = (config = configModule('')) => sandbox.directory({ 'countersign.config.mjs': config })
const TOKEN = '0123456789abcdef-_.~+/AB=='
const METRICS = /metrics on (http:\/\/127\.0\.0\.1:\d+)\/metrics/

/** `fetch` does not send another Host header. */
async function statusForHost(origin: string, path: string, host: string, headers: OutgoingHttpHeaders = {}) {
  const sent = request(`${origin}${path}`, { headers: { ...headers, Host: host }, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response.resume().statusCode
}

describe('the admin address', () => {
  it('answers the metrics of serve, health checks, and nothing else', async () => {
    const serve = sandbox.serve(['--admin-port', '0'], { cwd: await inDirectory() })
    const port = await serve.port()
    const [, origin] = await serve.outputMatch(METRICS)
    expect(await deliver(port)).toEqual({ status: 200 })
    const response = await fetch(`${origin}/metrics`)
    expect(response.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const counted = [...samplesOf(await response.text())].filter(([name]) => /callbacks_total/.test(name))
    expect(counted).toEqual([[expect.stringContaining(`event_type="${SUBSCRIPTION.eventTypeName}"`), 1]])
    const statusOf = async (path: string, method = 'GET') => (await fetch(origin + path, { method })).status
    expect(await statusOf('/readyz')).toBe(200)
    expect(await statusOf('/metrics', 'POST')).toBe(404)
    expect(await statusOf('/')).toBe(404)
    expect(await deliver(Number(new URL(origin!).port))).toEqual({ status: 404 })
    serve.signal('SIGTERM')
    expect(await serve.exit).toBe(0)
  })

  it('is not there unless asked for, and never on the address of the callbacks', async () => {
    const serve = sandbox.serve([], { cwd: await inDirectory() })
    const port = await serve.port()
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).not.toBe(200)
    expect(serve.output).not.toMatch(METRICS)
  })

  it('answers the metrics of work', async () => {
    const cwd = await inDirectory()
    const work = sandbox.work(['--admin-port', '0', '--inbox', 'callbacks.db'], { cwd })
    const [, origin] = await work.outputMatch(METRICS)
    await work.line(({ msg }) => msg === 'working')
    const samples = samplesOf(await (await fetch(`${origin}/metrics`)).text())
    expect(samples.get('countersign_inbox_readable{inbox="default"}')).toBe(1)
  })

  it('is checked by serve --check, with the file as the origin of a wrong option', async () => {
    const config = `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], admin: { prt: 1 } }`
    const cwd = await inDirectory(config)
    const wrong = await countersign(['serve', '--check'], { cwd })
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/countersign\.config\.mjs: admin has no option "prt".*Did you mean "port"/)
    const missing = await countersign(['serve', '--check'], {
      cwd: await inDirectory(config.replace('prt: 1', '')),
    })
    expect(missing.stderr).toMatch(/admin: port is undefined: use a whole number from 0 to 65535/)
    const right = await countersign(['serve', '--check', '--json'], {
      cwd: await inDirectory(config.replace('prt: 1', 'host: "127.0.0.1", port: 0')),
    })
    expect(JSON.parse(right.stdout)).toMatchObject({ admin: { host: '127.0.0.1', port: 0 } })
  })

  it('with a token, answers the metrics to whoever has it, by any host name, and health checks to all', async () => {
    const config = configModule('', 'admin: { port: 0, metricsToken: { env: "METRICS_TOKEN" } }')
    const env = { METRICS_TOKEN: TOKEN }
    const serve = sandbox.serve([], { cwd: await inDirectory(config), env })
    const [, origin] = await serve.outputMatch(METRICS)
    const answer = async (path: string, authorization?: string) => {
      const headers = authorization === undefined ? undefined : { Authorization: authorization }
      const response = await fetch(origin + path, { headers: headers ?? {} })
      return [
        response.status,
        response.headers.get('WWW-Authenticate'),
        /countersign_/.test(await response.text()),
      ]
    }
    expect(await answer('/metrics', `Bearer ${TOKEN}`)).toEqual([200, null, true])
    const refused = [
      undefined,
      TOKEN,
      `Basic ${TOKEN}`,
      `Bearer ${TOKEN}0`,
      `Bearer ${TOKEN.slice(1)}`,
      'Bearer ',
    ]
    for (const authorization of refused)
      expect(await answer('/metrics', authorization)).toEqual([401, 'Bearer', false])
    expect(await answer('/readyz')).toEqual([200, null, false])
    const headers = { Authorization: `Bearer ${TOKEN}` }
    expect(await statusForHost(origin!, '/metrics', 'metrics.example', headers)).toBe(200)
    expect(serve.output).not.toContain(TOKEN)
  })

  it('without a token, answers the metrics to requests for a host of its own', async () => {
    const config = configModule('', 'admin: { port: 0, hosts: ["countersign.internal"] }')
    const serve = sandbox.serve([], { cwd: await inDirectory(config) })
    const [, origin] = await serve.outputMatch(METRICS)
    const port = new URL(origin!).port
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, 'countersign.internal'])
      expect([host, await statusForHost(origin!, '/metrics', host)]).toEqual([host, 200])
    for (const host of ['evil.example', `127.0.0.1.evil.example:${port}`, '10.0.0.5', 'a b'])
      expect([host, await statusForHost(origin!, '/metrics', host)]).toEqual([host, 421])
    expect(await statusForHost(origin!, '/healthz', '10.0.0.5')).toBe(200)
  })

  it('refuses a token that can be guessed or cannot be sent, and does not repeat it', async () => {
    const check = async (metricsToken: string) => {
      const options = `admin: { port: 0, metricsToken: ${JSON.stringify(metricsToken)} }`
      return countersign(['serve', '--check'], { cwd: await inDirectory(configModule('', options)) })
    }
    const short = await check('short-token')
    expect(short.code).toBe(2)
    expect(short.stderr).toContain('admin: metricsToken is a text of 11 characters: use 16 to 1,000 letters')
    expect(short.stderr).not.toContain('short-token')
    expect((await check(`${TOKEN} with spaces`)).stderr).toContain('with characters that a token cannot have')
  })

  it('warns of metrics that other machines can read without a token', async () => {
    const check = async (admin: string) => {
      const cwd = await inDirectory(configModule('', `port: 0, admin: ${admin}`))
      const { stdout } = await countersign(['serve', '--check', '--json'], { cwd })
      expect(stdout).not.toContain(TOKEN)
      const { admin: summary, warnings } = JSON.parse(stdout)
      return [summary.hasToken, warnings.some(({ code }: { code: string }) => code === 'WARN_METRICS_OPEN')]
    }
    expect(await check('{ host: "0.0.0.0", port: 0 }')).toEqual([false, true])
    expect(await check(`{ host: "0.0.0.0", port: 0, metricsToken: "${TOKEN}" }`)).toEqual([true, false])
    expect(await check('{ host: "localhost", port: 0 }')).toEqual([false, false])
    expect(await check('{ host: "::1", port: 0 }')).toEqual([false, false])

    const cwd = await inDirectory(configModule('', 'admin: { host: "0.0.0.0", port: 0 }'))
    const serve = sandbox.serve([], { cwd })
    const { level, msg } = await serve.line(({ code }) => code === 'WARN_METRICS_OPEN')
    expect(level).toBe('warn')
    expect(msg).toContain('everybody who can connect to 0.0.0.0 can read /metrics: set admin.metricsToken')
  })
})
