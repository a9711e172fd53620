import { execFile } from 'node:child_process'
import { chmod, chown, link, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { itWhere } from '../support/it-where.js'
import { SUBSCRIPTION } from './configured.js'
import { CLIENT_SECRET, startFakeService } from './fake-service.js'
import { countersign, Sandbox, type Ran } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const BIN = join(__dirname, '../../dist/cli/bin.js')
const URL = 'http://127.0.0.1:1/'
const SECRET_TEXT = SUBSCRIPTION.secret
const NOBODY = 65_534
const itAsRoot = itWhere(process.geteuid?.() === 0, 'root, who can give files away')

interface Use {
  readonly file: string
  readonly content: string
  readonly args: readonly string[]
  readonly config?: object
  /** Of the file, where it is used by nobody else. */
  readonly code: number
}

const CONFIG = { subscriptions: [{ ...SUBSCRIPTION, secret: { file: 'a.secret' } }] }
const NEW = ['--event-type', 'a', '--callback-url', 'https://a.example/', '--prepare']

/** Every way in which a command is given a file with secrets. */
const USES: readonly (readonly [string, Use])[] = [
  [
    '--secret-file',
    { file: 'a.secret', content: SECRET_TEXT, args: ['send', URL, '--secret-file', 'a.secret'], code: 1 },
  ],
  [
    '{ file } of a configuration',
    { file: 'a.secret', content: SECRET_TEXT, args: ['serve', '--check'], config: CONFIG, code: 0 },
  ],
  [
    '--env',
    {
      file: 'a.env',
      content: 'A=b\n',
      args: ['serve', '--check', '--env', 'a.env'],
      config: { subscriptions: [SUBSCRIPTION] },
      code: 0,
    },
  ],
  [
    '--append-to',
    {
      file: 'a.env',
      content: 'A=b\n',
      args: ['subscribe', ...NEW, '--secret-env', 'NEW_SECRET', '--append-to', 'a.env'],
      code: 0,
    },
  ],
  [
    '--client-secret-file',
    {
      file: 'a.secret',
      content: CLIENT_SECRET,
      args: ['token', '--client-secret-file', 'a.secret'],
      code: 0,
    },
  ],
]

async function folder({ file, content, config }: Use): Promise<string> {
  const cwd = await sandbox.directory(config ? { 'countersign.config.json': JSON.stringify(config) } : {})
  await writeFile(join(cwd, file), content, { mode: 0o600 })
  return cwd
}

async function run({ args }: Use, cwd: string): Promise<Ran> {
  const { env } = await startFakeService(sandbox)
  const { COUNTERSIGN_CLIENT_SECRET: _, ...others } = env
  return countersign(args, { cwd, env: args[0] === 'token' ? others : {} })
}

describe.each(USES)('a file with secrets, by %s', (_, use) => {
  it("is taken where it is its own user's", async () => {
    const { code } = await run(use, await folder(use))
    expect(code).toBe(use.code)
  })

  it('is refused where it is a symbolic link, which leads nowhere or to a file that would do', async () => {
    const cwd = await folder(use)
    await rename(join(cwd, use.file), join(cwd, 'target'))
    await symlink('target', join(cwd, use.file))
    const { code, stderr } = await run(use, cwd)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('is a symbolic link, which is not followed'),
    })
    expect(await readFile(join(cwd, 'target'), 'utf8')).toBe(use.content)
    await rename(join(cwd, 'target'), join(cwd, 'elsewhere'))
    expect((await run(use, cwd)).code).toBe(2)
    await expect(readFile(join(cwd, 'target'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('is refused where others can write it', async () => {
    const cwd = await folder(use)
    await chmod(join(cwd, use.file), 0o620)
    const { code, stderr } = await run(use, cwd)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/can be (written|read) by others: "chmod/),
    })
    expect(await readFile(join(cwd, use.file), 'utf8')).toBe(use.content)
  })

  it('is refused where it is not a file', async () => {
    const cwd = await folder(use)
    await rename(join(cwd, use.file), join(cwd, 'target'))
    await mkdir(join(cwd, use.file))
    expect((await run(use, cwd)).code).toBe(2)
  })

  itAsRoot('is refused where it belongs to another user', async () => {
    const cwd = await folder(use)
    await chown(join(cwd, use.file), NOBODY, NOBODY)
    const { code, stderr } = await run(use, cwd)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('belongs to user 65534, and this process runs as user 0'),
    })
    expect(await readFile(join(cwd, use.file), 'utf8')).toBe(use.content)
  })
})

it('--append-to refuses a file with more names than one', async () => {
  const cwd = await sandbox.directory({})
  await writeFile(join(cwd, 'other'), 'A=b\n', { mode: 0o600 })
  await link(join(cwd, 'other'), join(cwd, '.env'))
  const ran = await countersign(['subscribe', ...NEW, '--secret-env', 'NEW_SECRET'], { cwd })
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('has 2 hard links') })
  expect(await readFile(join(cwd, 'other'), 'utf8')).toBe('A=b\n')
})

describe('a secret that Kubernetes mounts', () => {
  const config = (secret: object) => ({
    'countersign.config.json': JSON.stringify({ subscriptions: [{ ...SUBSCRIPTION, secret }] }),
  })

  async function mounted(secret: object): Promise<Ran> {
    const cwd = await sandbox.directory(config(secret))
    await mkdir(join(cwd, '..2026'))
    await writeFile(join(cwd, '..2026', 'a.secret'), SECRET_TEXT)
    await symlink('..2026', join(cwd, '..data'))
    await symlink(join('..data', 'a.secret'), join(cwd, 'a.secret'))
    return countersign(['serve', '--check', '--json'], { cwd })
  }

  it('is read where the configuration says that links are followed', async () => {
    expect((await mounted({ file: 'a.secret', followSymbolicLinks: true })).code).toBe(0)
  })

  it('is refused otherwise, with what to write', async () => {
    for (const secret of [{ file: 'a.secret' }, { file: 'a.secret', followSymbolicLinks: false }]) {
      const { code, stdout } = await mounted(secret)
      expect(code).toBe(2)
      expect((JSON.parse(stdout) as { message: string }).message).toContain('"followSymbolicLinks": true')
    }
  })

  it.each([
    { file: 'a.secret', followSymbolicLinks: 'yes' },
    { env: 'A', followSymbolicLinks: true },
    { file: 'a.secret', followLinks: true },
  ])('has no other spelling: %j', async (secret) => {
    expect((await mounted(secret)).code).toBe(2)
  })
})

it('a descriptor of the process itself is read, as a shell makes for <(command)', async () => {
  const command = 'printf %s "$SECRET" | "$0" "$@" --secret-file /dev/stdin'
  const { code, stdout } = await new Promise<{ code: unknown; stdout: string }>((resolve) => {
    execFile(
      'sh',
      ['-c', command, process.execPath, BIN, 'send', URL],
      { env: { SECRET: SECRET_TEXT } },
      (error, output) => resolve({ code: error?.code, stdout: output }),
    )
  })
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('ECONNREFUSED') })
})

describe('the file of an inbox', () => {
  async function withInbox(): Promise<{ cwd: string; file: string }> {
    const cwd = await sandbox.directory({
      'countersign.config.json': JSON.stringify({ subscriptions: [SUBSCRIPTION] }),
    })
    const file = join(cwd, 'callbacks.db')
    const inbox = new SqliteInbox({ file })
    await inbox.open()
    await inbox.close()
    return { cwd, file }
  }

  /** Those that look and those that write. */
  async function expectRefusal(cwd: string, message: string): Promise<void> {
    for (const args of [
      ['inbox', 'stats'],
      ['inbox', 'retry', '1'],
      ['rotate', '--status'],
    ]) {
      const ran = await countersign(args, { cwd })
      expect({ ...ran, code: ran.code === 0 }).toEqual({
        code: false,
        stdout: '',
        stderr: expect.stringContaining(message),
      })
    }
    const ran = await countersign(['serve', '--port', '0'], { cwd })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  }

  it('is refused where it is a symbolic link', async () => {
    const { cwd, file } = await withInbox()
    await rename(file, `${file}.target`)
    await symlink('callbacks.db.target', file)
    await expectRefusal(cwd, 'is a symbolic link, which is not followed')
  })

  it('is not made where a link leads nowhere', async () => {
    const { cwd, file } = await withInbox()
    await rename(file, `${file}.elsewhere`)
    await symlink('callbacks.db.target', file)
    expect((await countersign(['serve', '--port', '0'], { cwd })).code).toBe(2)
    await expect(readFile(`${file}.target`)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('is refused where others can write it', async () => {
    const { cwd, file } = await withInbox()
    await chmod(file, 0o602)
    await expectRefusal(cwd, 'can be written by others')
  })

  it('is refused where it is a folder, whose permissions are as they should be', async () => {
    const { cwd, file } = await withInbox()
    await rename(file, `${file}.elsewhere`)
    await mkdir(file, { mode: 0o777 })
    await chmod(file, 0o777)
    await expectRefusal(cwd, 'callbacks.db is not a file: name the file of the inbox')
  })

  itAsRoot('is refused where it belongs to another user', async () => {
    const { cwd, file } = await withInbox()
    await chown(file, NOBODY, NOBODY)
    await expectRefusal(cwd, 'belongs to user 65534')
  })

  it('is refused by the library, too', async () => {
    const { file } = await withInbox()
    await chmod(file, 0o666)
    await expect(new SqliteInbox({ file }).open()).rejects.toMatchObject({ code: 'ERR_INBOX_UNTRUSTED' })
  })
})
