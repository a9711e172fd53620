import { sendRawRequest } from '../../src/testing/raw-request.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { configModule, deliver, SUBSCRIPTION } from './configured.js'
import { Sandbox, type Serving } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

async function serving(
  config: string,
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<Serving> {
  const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
  return sandbox.serve(args, { cwd, env })
}

describe('countersign serve', () => {
  const shared = new Sandbox()
  let serve: Serving
  beforeAll(async () => {
    const config = configModule(`logger.info({ Id: event.payload.Id }, 'settled')`)
    serve = shared.serve([], { cwd: await shared.directory({ 'countersign.config.mjs': config }) })
  })
  afterAll(() => shared.clean())

  it('hands a genuine callback to its handler and answers 200', async () => {
    const { status } = await deliver(await serve.port(), { payload: { Id: 'transfer-1' } })
    expect(status).toBe(200)
    expect(await serve.line(({ msg }) => msg === 'settled')).toMatchObject({ Id: 'transfer-1', attempt: 1 })
  })

  it('says in the log what became of a callback, and nothing to the sender', async () => {
    const { status } = await deliver(await serve.port(), {
      subscription: { ...SUBSCRIPTION, secret: 'another secret' },
    })
    expect(status).toBe(401)
    const line = await serve.line(({ msg }) => msg === 'callback refused')
    expect(line).toMatchObject({ level: 'warn', outcome: 'refused', code: 'ERR_SIGNATURE_MISMATCH' })
  })

  it('logs the port that it was given where it asked for any', async () => {
    const line = await serve.line(({ msg }) => msg.startsWith('listening'))
    expect(line).toMatchObject({ level: 'info', host: '127.0.0.1', port: await serve.port() })
    expect(line['port']).toBeGreaterThan(0)
  })

  it('answers health and readiness checks', async () => {
    const port = await serve.port()
    const checks = ['/healthz', '/readyz'].map(
      async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status,
    )
    expect(await Promise.all(checks)).toEqual([200, 200])
  })

  it('takes handlers from a module beside the file', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.json': JSON.stringify({
        subscriptions: [SUBSCRIPTION],
        handlers: './handlers.mjs',
      }),
      'handlers.mjs': `export const handlers = {
        'transfers.book-completed': (event, { logger }) => logger.info({}, 'from the module') }`,
    })
    const serve = sandbox.serve([], { cwd })
    expect(await deliver(await serve.port())).toEqual({ status: 200 })
    await serve.line(({ msg }) => msg === 'from the module')
  })

  it('takes a function that registers handlers', async () => {
    const serve = await serving(`export default {
      subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
      handlers: ({ onAny }) => { onAny((event, { logger }) => logger.info({}, 'any: ' + event.type)) } }`)
    expect(await deliver(await serve.port())).toEqual({ status: 200 })
    await serve.line(({ msg }) => msg === 'any: transfers.book-completed')
  })

  it('warns of a subscription without a handler, and of a handler without a subscription', async () => {
    const serve = await serving(`export default {
      subscriptions: [${JSON.stringify(SUBSCRIPTION)}], handlers: { 'transfers.book-complete': () => {} } }`)
    await serve.port()
    const codes = serve.lines.filter(({ level }) => level === 'warn').map(({ code }) => code)
    expect(codes).toEqual(['WARN_HANDLER_MISSING', 'WARN_HANDLER_UNREACHABLE'])
  })

  it('is readable on request, one line for each record', async () => {
    const serve = await serving(configModule(''), ['--log-format', 'readable'])
    await deliver(await serve.port())
    await serve.outputMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO  callback handled transfers\.book-completed \d+ ms [\da-f-]{36}$/m,
    )
  })

  it('ends with 1 and a plain message when the address is taken, whatever a handlers module holds open', async () => {
    const taken = await serve.port()
    const second = await serving(`setInterval(() => {}, 1_000);${configModule('')}`, ['--port', `${taken}`])
    expect(await second.exit).toBe(1)
    expect(second.output).toContain(`cannot listen on 127.0.0.1 port ${taken}: another program listens there`)
    expect(second.output).not.toMatch(/^ {4}at /m)
  })
})

describe('slow senders', () => {
  it('are answered 408 when the body does not come, and cut off when the head does not', async () => {
    const port = await (await serving(configModule('', 'bodyTimeoutMs: 200, headersTimeoutMs: 200,'))).port()
    const bytes = signedCallback({ subscription: SUBSCRIPTION }).toHttp()
    const answers = await Promise.all(
      [bytes.subarray(0, bytes.length - 1), Buffer.from('POST / HTTP/1.1\r\nHost: a\r\n')].map((part) =>
        sendRawRequest(part, { port }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([408, 408])
    expect(answers[1]!.headers['connection']).toBe('close')
  })
})

describe('what may not be in the log', () => {
  const base64 = Buffer.from(SUBSCRIPTION.secret).toString('base64')
  const HANDLER = `
    if (event.payload.quietly) return
    logger.error({ err: withExtras(), error: withExtras(), other: withExtras() }, 'own line')
    logger.error(withExtras())
    logger.info({ secret: '${SUBSCRIPTION.secret}', text: 'sent as ${base64}' }, 'told ${SUBSCRIPTION.secret}')
    throw withExtras()`
  const PRELUDE = `
    const withExtras = () => Object.assign(new Error('upstream refused Bearer token-in-a-message-1234'), {
      config: { headers: { Authorization: 'Basic dXNlcjpwYXNz', 'X-Api-Key': 'api-key-as-an-extra' } },
      cause: Object.assign(new Error('inner'), { response: { token: 'api-key-as-an-extra' } }),
    });`

  it.each(['json', 'readable'])(
    'is not there in the %s format, whatever handlers throw and log',
    async (format) => {
      const serve = await serving(PRELUDE + configModule(HANDLER), [
        '--log-level',
        'trace',
        '--log-format',
        format,
      ])
      const port = await serve.port()
      const requests = [
        signedCallback({ subscription: SUBSCRIPTION }),
        signedCallback({ subscription: SUBSCRIPTION, payload: { Id: 'body-of-a-callback', quietly: true } }),
        signedCallback({ subscription: { ...SUBSCRIPTION, secret: 'forged' } }),
        signedCallback({
          subscription: SUBSCRIPTION,
          headers: { Authorization: 'Bearer a-token-of-another-client' },
        }),
      ]
      const statuses: number[] = []
      for (const request of requests) statuses.push((await sendRawRequest(request.toHttp(), { port })).status)
      expect(statuses).toEqual([500, 200, 401, 401])
      serve.signal('SIGTERM')
      expect(await serve.exit).toBe(0)

      expect(serve.output).toContain('own line')
      expect(serve.output).toContain('upstream refused Bearer [hidden]')
      const signatures = requests.map(({ headers }) => headers['Authorization']!.split('Signature=').at(-1)!)
      const secrets = [
        SUBSCRIPTION.secret,
        base64,
        'token-in-a-message',
        'dXNlcjpwYXNz',
        'api-key-as-an-extra',
      ]
      for (const text of [
        ...secrets,
        ...signatures,
        'a-token-of-another-client',
        'body-of-a-callback',
        'query-token',
      ]) {
        expect([text, serve.output.includes(text)]).toEqual([text, false])
      }
    },
  )
})
