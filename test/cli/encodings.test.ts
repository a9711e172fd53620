import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

/** As PowerShell writes it. */
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')
const CONFIG = JSON.stringify({ subscriptions: [{ ...SUBSCRIPTION, secret: { env: 'SECRET' } }] })

describe('a file in UTF-16 is refused, with what to do', () => {
  it('an env file', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.json': CONFIG })
    await writeFile(join(cwd, '.env'), utf16('SECRET=0123456789abcdef\r\n'))
    const { code, stderr } = await countersign(['serve', '--check', '--env', '.env'], { cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'countersign: --env: .env is not UTF-8: save it as UTF-8\n',
    })
  })

  it('a configuration', async () => {
    const cwd = await sandbox.directory({})
    await writeFile(join(cwd, 'countersign.config.json'), utf16(CONFIG))
    const { code, stderr } = await countersign(['serve', '--check'], { cwd, env: { SECRET: 'x' } })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'countersign: countersign.config.json is not UTF-8: save it as UTF-8.\n',
    })
  })
})

it('a secret is not appended to an env file that no command could read', async () => {
  const cwd = await sandbox.directory({})
  const file = join(cwd, '.env')
  const before = Buffer.from('# g\xfcltig\nA=1\n', 'latin1')
  await writeFile(file, before, { mode: 0o600 })
  const args = [
    'subscribe',
    '--event-type',
    SUBSCRIPTION.eventTypeName,
    '--prepare',
    '--secret-env',
    'NEW_SECRET',
  ]
  const ran = await countersign([...args, '--callback-url', SUBSCRIPTION.callbackUrl], { cwd })
  expect(ran).toEqual({ code: 2, stdout: '', stderr: 'countersign: .env is not UTF-8: save it as UTF-8\n' })
  expect(await readFile(file)).toEqual(before)
})
