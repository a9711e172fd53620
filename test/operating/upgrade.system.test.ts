import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { SUBSCRIPTION } from '../cli/configured.js'
import { countersign, Sandbox } from '../cli/program.js'
import { arrival } from '../support/arrivals.js'
import { itWhere } from '../support/it-where.js'
import { findProgram, freePort } from '../support/server-program.js'
import { openAside } from '../support/sqlite-file.js'
import { runShell, shellBlocks } from './documented-commands.js'

const PAGE = join(__dirname, '../../docs/operating.md')

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

/** A folder with an inbox that has one entry. */
async function withInbox(): Promise<{ cwd: string; file: string }> {
  const config = JSON.stringify({ subscriptions: [SUBSCRIPTION], inbox: { file: 'callbacks.db' }, port: 0 })
  const cwd = await sandbox.directory({ 'countersign.config.json': config })
  const file = join(cwd, 'callbacks.db')
  const inbox = new SqliteInbox({ file })
  await inbox.add(arrival())
  await inbox.close()
  return { cwd, file }
}

async function change(file: string, sql: string): Promise<void> {
  const database = await openAside(file)
  database.exec(sql)
  database.close()
}

it('an upgrade, as docs/operating.md describes it, checks the new version while the old receiver runs', async () => {
  const { cwd } = await withInbox()
  const port = await freePort()
  const serve = sandbox.serve(['--port', String(port)], { cwd })
  await serve.port()
  const step = /^3\. Run `(.*?)` of the new version/m.exec(readFileSync(PAGE, 'utf8'))
  const env = { COUNTERSIGN_PORT: String(port) }
  expect(await runShell(step![1]!, { cwd, env })).toMatchObject({ code: 0 })
})

describe('going back a version, as docs/operating.md describes it', () => {
  it('is refused by a version that does not know the schema, which changes nothing', async () => {
    const { cwd, file } = await withInbox()
    const newer = SCHEMA_VERSION + 1
    await change(file, `PRAGMA user_version = ${newer}`)
    const bytes = readFileSync(file)
    const { code, stderr } = await countersign(['serve'], { cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(`its schema is version ${newer}`),
    })
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })

  itWhere(findProgram('sqlite3') !== undefined, 'sqlite3')(
    'is possible with the backup of before the upgrade',
    async () => {
      const { cwd, file } = await withInbox()
      expect(await runShell(shellBlocks('Back up')[0]!, { cwd })).toMatchObject({ code: 0 })
      await change(file, `PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
      expect(await runShell(shellBlocks('Restore')[0]!, { cwd })).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/stored +1\n/),
      })
    },
  )
})
