import { SUBSCRIPTION, deliver } from './configured.js'
import { countersign, jsonLines, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const CONFIG = 'countersign.config.json'
const ACME = { ...SUBSCRIPTION, id: 'acme' }
const BOLT = { ...SUBSCRIPTION, id: 'bolt', secret: 'the-secret-of-bolt' }
const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'

const directoryWith = (...subscriptions: object[]) =>
  sandbox.directory({ [CONFIG]: JSON.stringify({ subscriptions, handlers: {} }) })

it('serve --check shows the ids of two tenants with one event type and URL', async () => {
  const cwd = await directoryWith(ACME, BOLT)
  const { code, stdout } = await countersign(['serve', '--check'], { cwd })
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/transfers\.book-completed \(id acme\) .*\n.*\(id bolt\) /),
  })
  const { stdout: json } = await countersign(['serve', '--check', '--json'], { cwd })
  expect(JSON.parse(json)).toMatchObject({ subscriptions: [{ id: 'acme' }, { id: 'bolt' }] })
})

it('serve refuses them without ids, and says what to do', async () => {
  const cwd = await directoryWith(SUBSCRIPTION, { ...BOLT, id: undefined })
  const { code, stderr } = await countersign(['serve', '--check'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(`${CONFIG}: subscriptions[0] and subscriptions[1] have the same id`)
  expect(stderr).toContain('Give each tenant an id of its own')
  expect(stderr).not.toContain('query-token')
})

it('serve keeps the same callback of each, and inbox show says whose it is', async () => {
  const cwd = await directoryWith(ACME, BOLT)
  const port = await sandbox.serve([], { cwd }).port()
  for (const subscription of [ACME, BOLT, ACME]) {
    const callback = { subscription, idempotencyKey: KEY, payload: { Id: KEY } }
    expect(await deliver(port, callback)).toEqual({ status: 200 })
  }
  const { stdout } = await countersign(['inbox', 'list', '--json'], { cwd })
  expect(jsonLines(stdout)).toMatchObject([
    { id: '1', subscription: { id: 'acme' } },
    { id: '2', subscription: { id: 'bolt' } },
  ])
  const shown = await countersign(['inbox', 'show', '2'], { cwd })
  expect(shown.stdout).toMatch(/subscriptionId +bolt\n/)
})

it('rotate finds one of them by its id, and prints the entry with it', async () => {
  const cwd = await directoryWith(ACME, BOLT)
  const unclear = await countersign(['rotate', '--secret-file', 'new.secret', '--prepare'], { cwd })
  expect(unclear.stderr).toContain('which subscription?')
  expect(unclear.stderr).toContain('(id bolt)')
  const args = ['rotate', '--subscription', 'bolt', '--secret-file', 'new.secret', '--prepare']
  const { code, stdout } = await countersign(args, { cwd })
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("  id: 'bolt',\n") })
})
