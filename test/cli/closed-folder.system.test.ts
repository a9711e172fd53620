import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { itWhere } from '../support/it-where.js'
import { SUBSCRIPTION } from './configured.js'
import { Sandbox, type Ran } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const ROOT = join(__dirname, '../..')
const NOBODY = 65_534
const AS_NOBODY = { uid: NOBODY, gid: NOBODY, env: {} }
const itAsRoot = itWhere(process.geteuid?.() === 0, 'root, who can be another user')

interface Installed {
  readonly node: string
  readonly bin: string
}

/** Copies of Node and the program that every user can run: the repository, or Node, may be in the home of root. */
async function installedForAll(): Promise<Installed> {
  const folder = await sandbox.directory({})
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; devOptional?: true; peer?: true }>
  }
  // On Node 20 the inbox in a file needs its optional peer.
  const isNeeded = (name: string) =>
    /@photostructure|node-gyp-build$/.test(name) ||
    !(packages[name]!.dev ?? packages[name]!.devOptional ?? packages[name]!.peer)
  const names = Object.keys(packages).filter((name) => name !== '' && isNeeded(name))
  for (const name of ['package.json', 'dist', ...names])
    await cp(join(ROOT, name), join(folder, name), { recursive: true })
  const isForAll = spawnSync(process.execPath, ['--version'], { ...AS_NOBODY, cwd: '/' }).status === 0
  const node = isForAll ? process.execPath : join(folder, 'node')
  if (!isForAll) await copyFile(process.execPath, node)
  openForAll(folder)
  return { node, bin: join(folder, 'dist/cli/bin.js') }
}

/** Whatever the umask of the user is who runs the tests. */
function openForAll(folder: string): void {
  execFileSync('chmod', ['-R', 'a+rX', folder])
}

/** The program as a user who may not enter the folder `closed`. */
function asNobody(args: readonly string[], cwd: string, { node, bin }: Installed): Promise<Ran> {
  return new Promise((resolve) =>
    execFile(node, [bin, ...args], { ...AS_NOBODY, cwd }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    ),
  )
}

async function folder(): Promise<string> {
  const config = { subscriptions: [SUBSCRIPTION] }
  const cwd = await sandbox.directory({
    'open.json': JSON.stringify({ ...config, handlers: './closed/handlers.mjs' }),
  })
  openForAll(cwd)
  const closed = join(cwd, 'closed')
  await mkdir(closed, { mode: 0o700 })
  await writeFile(join(closed, 'a.json'), JSON.stringify(config))
  await writeFile(join(closed, 'handlers.mjs'), 'export default {}')
  const inbox = new SqliteInbox({ file: join(closed, 'callbacks.db') })
  await inbox.open()
  await inbox.close()
  return cwd
}

const NO_ACCESS = /closed\/callbacks\.db cannot be written\. Let this process .*EACCES/
const CURE = `cannot be read (EACCES): let user ${NOBODY}, who runs this process, read the file and enter its folder`

describe('a file in a folder that this user may not enter', () => {
  itAsRoot('is not said to be missing, if it is an inbox', async () => {
    const [cwd, installed] = [await folder(), await installedForAll()]
    for (const command of ['stats', 'list', 'migrate']) {
      const ran = await asNobody(['inbox', command, '--inbox', 'closed/callbacks.db'], cwd, installed)
      expect(ran).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(NO_ACCESS) as string })
    }
  })

  itAsRoot('is not said to be missing, if it is a configuration or its handlers', async () => {
    const [cwd, installed] = [await folder(), await installedForAll()]
    for (const config of ['closed/a.json', 'open.json']) {
      const ran = await asNobody(['serve', '--check', '--config', config], cwd, installed)
      expect(ran).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(CURE) as string })
    }
  })
})
