import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { configModule, deliver, SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const CLIENT_SECRET = 'The-Client.Secret_of~the-service'
const REVOKED = `const { proxy, revoke } = Proxy.revocable({}, {}); revoke();`

describe('a handler of serve that throws', () => {
  it.each([
    ['without an inbox', 'inbox: false,', 500],
    ['with an inbox', `inbox: { file: 'callbacks.db' }, maxAttempts: 1,`, 200],
  ])('a revoked Proxy does not end the process, %s', async (_how, options, status) => {
    const config = configModule(`${REVOKED} if (event.payload.bad) throw proxy`, options)
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
    const serve = sandbox.serve([], { cwd })
    const port = await serve.port()
    expect(await deliver(port, { payload: { Id: 'one', bad: true } })).toEqual({ status })
    await serve.line(({ err }) => (err as { message?: string } | undefined)?.message === 'a thrown object')
    expect(await deliver(port, { payload: { Id: 'two' } })).toEqual({ status: 200 })
    await serve.line(({ msg, outcome }) => msg === 'entry handled' || outcome === 'handled')
  })

  it('an error of 10 MB that holds secrets fills neither the log nor the inbox, and shows none', async () => {
    const { secret } = SUBSCRIPTION
    const hidden = [
      secret,
      Buffer.from(secret).toString('base64'),
      CLIENT_SECRET,
      CLIENT_SECRET.toLowerCase(),
    ]
    const config = configModule(
      `const cause = new Error('below ' + ${JSON.stringify(hidden.join(' '))})
       const text = ${JSON.stringify(hidden.join(' '))} + 'x'.repeat(3700) + ${JSON.stringify(hidden.join(' '))}
       throw new RangeError(text + 'x'.repeat(1e7), { cause })`,
      `inbox: { file: 'callbacks.db' }, maxAttempts: 2, retryDelayMs: 1,`,
    )
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
    const serve = sandbox.serve([], { cwd, env: { COUNTERSIGN_CLIENT_SECRET: CLIENT_SECRET } })
    await deliver(await serve.port())
    const { err, error } = await serve.line(({ msg }) => msg === 'entry is a dead letter')
    expect(err).toMatchObject({
      type: 'RangeError',
      message: expect.stringMatching(/cut: it has 1000/),
      stack: expect.stringMatching(/^RangeError: .*\n {4}at /s),
    })
    expect(error).toBeUndefined()
    serve.signal('SIGTERM')
    expect(await serve.exit).toBe(0)
    expect(serve.output.length).toBeLessThan(60_000)
    const kept = readFileSync(join(cwd, 'callbacks.db')).toString('latin1')
    expect(kept).toContain('RangeError: [hidden]')
    for (const each of hidden) {
      expect(serve.output).not.toContain(each.slice(0, 10))
      expect(kept).not.toContain(each.slice(0, 10))
    }
  })
})

it.each([
  ['undefined', 'throw undefined', 'a thrown undefined'],
  ['a revoked Proxy', `${REVOKED} throw proxy`, 'a thrown object'],
  ['a string', `throw 'of a body'`, 'a thrown string'],
])('what nobody catches is logged and ends the process with 1: %s', async (_what, code, message) => {
  const config = configModule(`setImmediate(() => { ${code} })`)
  const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
  const serve = sandbox.serve([], { cwd })
  await deliver(await serve.port()).catch(() => 'cut off')
  expect(await serve.exit).toBe(1)
  expect(await serve.line(({ level }) => level === 'fatal')).toMatchObject({ err: { message } })
  expect(serve.output).not.toContain('of a body')
})

it.each([
  ['in a file', 'no-folder/callbacks.db', 2],
  ['in PostgreSQL', 'postgres://127.0.0.1:1/callbacks', 1],
])(
  'a start without its inbox %s says only of running processes that they need no restart',
  async (_where, inbox, exitCode) => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': configModule('', `inbox: '${inbox}'`) })
    const { code, stderr } = await countersign(['serve', '--port', '0'], { cwd })
    expect({ code, stderr }).toEqual({
      code: exitCode,
      stderr: expect.stringMatching(/^countersign: .*; a running process needs no restart \(.*\)\n$/),
    })
  },
)

it.each([
  ['a configuration', `${REVOKED} throw proxy`],
  ['a handlers function', `export default { ...CONFIG, handlers: () => { ${REVOKED} throw proxy } }`],
])('%s that throws a revoked Proxy is an error with a message', async (_what, code) => {
  const config = code.replace('...CONFIG', `subscriptions: [${JSON.stringify(SUBSCRIPTION)}], inbox: false`)
  const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
  const { code: exitCode, stderr } = await countersign(['serve', '--port', '0'], { cwd })
  expect(exitCode).toBe(2)
  expect(stderr).toMatch(/^countersign: countersign\.config\.mjs\b.*\n$/)
})
