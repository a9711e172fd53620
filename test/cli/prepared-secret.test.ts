import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SUBSCRIPTION } from './configured.js'
import { startFakeService } from './fake-service.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const { secret: OLD, ...PUBLIC } = SUBSCRIPTION
const CONFIG = 'countersign.config.json'
const TO = ['--event-type', PUBLIC.eventTypeName, '--callback-url', PUBLIC.callbackUrl]

function config(secret: unknown): string {
  return JSON.stringify({ subscriptions: [{ ...PUBLIC, secret }], handlers: {} })
}

describe('rotate creates the subscription of a prepared secret', () => {
  it.each<[string, (cwd: string) => unknown]>([
    ['a relative path', () => ({ file: './new.secret' })],
    ['an absolute path', (cwd) => ({ file: join(cwd, 'new.secret') })],
    ['a path whose links are followed', () => ({ file: 'new.secret', followSymbolicLinks: true })],
    ['a variable', () => ({ env: 'NEW_SECRET' })],
  ])('if the configuration names it by %s', async (_, reference) => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory({ [CONFIG]: config({ file: 'old.secret' }), 'old.secret': OLD })
    const rotate = ['rotate', '--secret-file', 'new.secret']
    expect((await countersign([...rotate, '--prepare'], { cwd })).code).toBe(0)
    const secret = await readFile(join(cwd, 'new.secret'), 'utf8')
    await writeFile(join(cwd, CONFIG), config([reference(cwd), { file: 'old.secret' }]))
    const { stdout, stderr } = await countersign([...rotate, '--existing-secret', '--json'], {
      cwd,
      env: { ...service.env, NEW_SECRET: secret },
    })
    expect(stderr).not.toContain('already has the secret')
    const { created, entry, next } = JSON.parse(stdout) as Record<string, any>
    expect(created).toBe(true)
    expect(entry.secret).toEqual([{ file: 'new.secret' }, { file: 'old.secret' }])
    expect(next[0]).toMatch(/^The configuration already has both secrets in subscriptions\[0\]/)
  })
})

it('the commands of the next steps read the env file of --env, which has other secrets of the configuration', async () => {
  const cwd = await sandbox.directory({ [CONFIG]: config({ env: 'OLD_SECRET' }) })
  await writeFile(join(cwd, 'other.env'), `OLD_SECRET=${OLD}`, { mode: 0o600 })
  const args = ['--secret-file', 'new.secret', '--prepare', '--env', 'other.env']
  const rotated = await countersign(['rotate', ...args], { cwd })
  expect(rotated.stderr).toContain('Watch with "countersign rotate --status --env other.env"')
  const subscribed = await countersign(['subscribe', ...TO, '--existing-secret', ...args], { cwd })
  const [, command] = /"countersign (serve [^"]*)"/.exec(subscribed.stderr)!
  expect((await countersign(command!.split(' '), { cwd })).code).toBe(0)
})

describe('a secret in an env file', () => {
  it('is where the commands of the next steps look', async () => {
    const cwd = await sandbox.directory({})
    const args = ['subscribe', ...TO, '--secret-env', 'NEW_SECRET', '--append-to', 'secrets.env', '--prepare']
    const { stdout, stderr } = await countersign(args, { cwd })
    await writeFile(join(cwd, 'countersign.config.mjs'), `export default { subscriptions: [${stdout}] }`)
    const [, command] = /"countersign (serve [^"]*)"/.exec(stderr)!
    expect((await countersign(command!.split(' '), { cwd })).code).toBe(0)
  })

  it('is watched with the variables of the file', async () => {
    const cwd = await sandbox.directory({ [CONFIG]: config({ file: 'old.secret' }), 'old.secret': OLD })
    const { stderr } = await countersign(['rotate', '--secret-env', 'NEW_SECRET', '--prepare'], { cwd })
    expect(stderr).toContain('Watch with "countersign rotate --status --env .env"')
  })

  it.each([
    ['.env', []],
    ['other.env', ['--env', 'other.env']],
    ['other.env', ['--append-to', 'other.env']],
  ])('is said to be in %s with %j', async (file, args) => {
    const { env } = await startFakeService(sandbox)
    const cwd = await sandbox.directory({})
    await writeFile(join(cwd, file), 'NEW_SECRET=a-secret-of-tests', { mode: 0o600 })
    const command = ['subscribe', ...TO, '--secret-env', 'NEW_SECRET', '--existing-secret', ...args]
    const { code, stderr } = await countersign(command, { cwd, env })
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(`the secret is kept in NEW_SECRET in ${file};`) as string,
    })
    expect(stderr).toContain(`"countersign serve --check --env ${file}"`)
  })

  it('is not said to be there if the environment has it', async () => {
    const { env } = await startFakeService(sandbox)
    const cwd = await sandbox.directory({})
    const args = ['subscribe', ...TO, '--secret-env', 'NEW_SECRET', '--existing-secret']
    const { code, stderr } = await countersign(args, {
      cwd,
      env: { ...env, NEW_SECRET: 'a-secret-of-tests' },
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('.env') as string })
    expect(stderr).toContain('the secret is kept in the environment variable NEW_SECRET;')
    expect(stderr).toContain('"countersign serve --check"')
  })
})
