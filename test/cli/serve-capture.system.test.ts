import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { configModule, deliver, SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'
import { until } from '../support/until.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const SIGNED_WITH = `${SUBSCRIPTION.secret}\n`

describe('countersign serve', () => {
  it('captures refused requests beside the configuration, which verify explains with the secrets of that', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': configModule('', `capture: { folder: 'captured' }`),
    })
    const serve = sandbox.serve([], { cwd })
    const port = await serve.port()
    await deliver(port, { subscription: { ...SUBSCRIPTION, secret: SIGNED_WITH } })
    const captured = join(cwd, 'captured')
    await until(() => hasCapture(captured))
    expect(statSync(captured).mode & 0o777).toBe(0o700)

    // The first explanation of a process may run out of time, before its code is compiled, and then proves nothing.
    const line = await serve.line(({ code }) => code === 'WARN_SIGNATURE_EXPLAINED')
    expect(line).toMatchObject({ level: 'warn', cause: expect.any(String) })

    const { code, stdout } = await countersign(['verify', 'captured'], { cwd })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^cause +secret-white-space \(proven\)$/m)
    const files = readdirSync(captured).map((file) => readFileSync(join(captured, file), 'latin1'))
    for (const text of [stdout, ...files]) expect(text).not.toContain(SUBSCRIPTION.secret)

    const asked = await countersign(['verify', '.'], { cwd: captured })
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('--secret-file') })
  })

  it('verify takes the time of arrival from a capture, and says nothing of a body that was not read', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': configModule('', `capture: { folder: 'captured' }`),
    })
    const serve = sandbox.serve([], { cwd })
    await deliver(await serve.port(), { headers: { Authorization: null } })
    const captured = join(cwd, 'captured')
    await until(() => hasCapture(captured))
    const { code, stdout } = await countersign(['verify', 'captured', '--json'], { cwd })
    const { requests } = JSON.parse(stdout)
    expect(code).toBe(3)
    expect(requests[0]).toMatchObject({ bodyRead: false, refusedFor: 'ERR_AUTHORIZATION_MISSING' })
    expect(requests[0].findings.map(({ cause }: { cause: string }) => cause)).toEqual([
      'authorization-stripped',
      'forged-or-unknown',
    ])
    const readable = await countersign(['verify', 'captured'], { cwd })
    expect(readable.stdout).toMatch(
      /^ +the signature cannot be computed: the receiver did not read the body$/m,
    )
    expect(readable.stdout).toMatch(/^refused +ERR_AUTHORIZATION_MISSING: there is no Authorization header$/m)
  })

  it('--check refuses a folder that is a link, and names the option', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': configModule('', `capture: { folder: '/proc/self/cwd' }`),
    })
    const { code, stderr } = await countersign(['serve', '--check'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('capture.folder: /proc/self/cwd is a symbolic link')
  })
})

/** Whether the request and what is known of it are written: a file that is there may still be empty. */
function hasCapture(folder: string): boolean {
  if (!existsSync(folder)) return false
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size)
  return sizes.length === 2 && sizes.every((size) => size > 0)
}
