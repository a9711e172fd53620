import { browse, hiddenFields, textOf } from '../console/browse.js'
import { connection } from '../support/connection.js'
import { configModule, deliver, SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const PASSWORD = 'correct horse battery'
const USER = `{ name: 'ada', password: { env: 'ADA_PASSWORD' }, role: 'decide' }`
const inDirectory = (admin: string, more = '') =>
  sandbox.directory({
    'countersign.config.mjs': configModule('', `inbox: { file: 'callbacks.db' }, admin: ${admin}, ${more}`),
  })
const env = { ADA_PASSWORD: PASSWORD }
const ADDRESS = /console on (http:\/\/127\.0\.0\.1:\d+\/console\/)/

describe('the console of serve', () => {
  it('is at /console/ of the admin address, behind a password', async () => {
    const cwd = await inDirectory(`{ port: 0, console: { users: [${USER}] } }`)
    const serve = sandbox.serve([], { cwd, env })
    const port = await serve.port()
    const [, base] = await serve.outputMatch(ADDRESS)
    expect(await deliver(port)).toEqual({ status: 200 })
    const { get, post } = browse(base!)
    expect((await get('/')).headers.get('Location')).toBe('/console/')
    expect((await get('/console')).headers.get('Location')).toBe('./console/')
    expect((await get('./')).headers.get('Location')).toBe('sign-in')
    const { socket, received, closed } = await connection(Number(new URL(base!).port))
    socket.write(`GET ${base} HTTP/1.1\r\nHost: ${new URL(base!).host}\r\nConnection: close\r\n\r\n`)
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 303 [^]*\r\nLocation: sign-in\r\n/)
    const fields = { ...hiddenFields(await get('sign-in')), name: 'ada', password: PASSWORD }
    expect((await post('sign-in', fields)).status).toBe(303)
    expect(textOf(await get('entries'))).toContain(SUBSCRIPTION.eventTypeName)
    expect((await get('/consoles')).status).toBe(404)
    expect((await get('/metrics')).status).toBe(200)
    await serve.outputMatch(/signed in to the console/)
    expect(serve.output).not.toContain(PASSWORD)
    serve.signal('SIGTERM')
    expect(await serve.exit).toBe(0)
  })

  it('is not there unless asked for', async () => {
    const serve = sandbox.serve([], { cwd: await inDirectory('{ port: 0 }') })
    await serve.port()
    const [, origin] = await serve.outputMatch(/metrics on (http:\/\/127\.0\.0\.1:\d+)/)
    expect((await fetch(`${origin}/console/`)).status).toBe(404)
    expect((await fetch(`${origin}/`)).status).toBe(404)
  })

  it('is not started without a password on an address that other machines reach', async () => {
    const cwd = await inDirectory(`{ host: '0.0.0.0', port: 0, console: {} }`)
    const refused = await countersign(['serve'], { cwd })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(
      /countersign\.config\.mjs: admin: console: users is empty: give at least one user a password/,
    )
  })

  it('is not started without the password that the configuration refers to', async () => {
    const cwd = await inDirectory(`{ port: 0, console: { users: [${USER}] } }`)
    const refused = await countersign(['serve'], { cwd })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(/admin\.console\.users\[0\]\.password: .*ADA_PASSWORD/)
  })

  it('is checked by serve --check, which prints no password', async () => {
    const cwd = await inDirectory(`{ port: 0, console: { users: [${USER}] } }`)
    const checked = await countersign(['serve', '--check', '--json'], { cwd, env })
    expect(JSON.parse(checked.stdout)).toMatchObject({
      valid: true,
      admin: { console: { users: 1, bodies: 'decide', reasonRequired: false } },
    })
    expect(checked.stdout).not.toContain(PASSWORD)
    const readable = await countersign(['serve', '--check'], { cwd, env })
    expect(readable.stdout).toMatch(/console there at \/console\/; users: 1/)
    const without = await inDirectory(`{ port: 0, console: {} }`, 'inbox: false')
    const refused = await countersign(['serve', '--check'], { cwd: without })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(/admin: console is set without an inbox that it could show/)
  })
})

test('a worker has a console as well', async () => {
  const cwd = await inDirectory('{ port: 0, console: {} }')
  const work = sandbox.work(['--inbox', 'callbacks.db'], { cwd })
  const [, base] = await work.outputMatch(ADDRESS)
  await work.line(({ msg }) => msg === 'working')
  const page = await browse(base!).get('./')
  expect([page.status, textOf(page)]).toEqual([200, expect.stringContaining('0 handled')])
})
