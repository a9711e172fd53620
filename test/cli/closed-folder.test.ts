import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SqliteInbox } from '../../src/sqlite.js'
import { itWhere } from '../support/it-where.js'
import { SUBSCRIPTION } from './configured.js'
import { Sandbox, type Ran } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const BIN = join(__dirname, '../../dist/cli/bin.js')
const NOBODY = 65_534
const itAsRoot = itWhere(process.geteuid?.() === 0, 'root, who can be another user')

/** The program as a user who may not enter the folder `closed`. */
function asNobody(args: readonly string[], cwd: string): Promise<Ran> {
  const options = { cwd, uid: NOBODY, gid: NOBODY, env: {} }
  return new Promise((resolve) =>
    execFile(process.execPath, [BIN, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    ),
  )
}

async function folder(): Promise<string> {
  const config = { subscriptions: [SUBSCRIPTION] }
  const cwd = await sandbox.directory({
    'open.json': JSON.stringify({ ...config, handlers: './closed/handlers.mjs' }),
  })
  await chmod(cwd, 0o755)
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
    const cwd = await folder()
    for (const command of ['stats', 'list', 'migrate']) {
      const ran = await asNobody(['inbox', command, '--file', 'closed/callbacks.db'], cwd)
      expect(ran).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(NO_ACCESS) as string })
    }
  })

  itAsRoot('is not said to be missing, if it is a configuration or its handlers', async () => {
    const cwd = await folder()
    for (const config of ['closed/a.json', 'open.json']) {
      const ran = await asNobody(['serve', '--check', '--config', config], cwd)
      expect(ran).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(CURE) as string })
    }
  })
})
