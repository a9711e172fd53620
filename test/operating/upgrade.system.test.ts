import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import { SUBSCRIPTION } from '../cli/configured.js'
import { countersign, Sandbox } from '../cli/program.js'
import { itWhere } from '../support/it-where.js'
import { findProgram, freePort } from '../support/server-program.js'
import { openAside } from '../support/sqlite-file.js'
import { runShell, shellBlocks } from './documented-commands.js'

const SCHEMA_1 = readFileSync(join(__dirname, '../support/schema-1.sql'), 'utf8')
const PAGE = join(__dirname, '../../docs/operating.md')
const HANDLED = `
  INSERT INTO entries (state, known, event_type, idempotency_key, key_hash, body_hash, signature, ready, signed_at,
    received_at, finished_at, subscribed_type, callback_url, body)
  VALUES ('handled', 1, 'transfers.book-completed', '7c9e6679-7425-40de-944b-e07fc1f90ae7', x'01', x'02', x'03', 0,
    1762161267000, 1762161267000, 1762161267000, 'transfers.book-completed',
    'https://partner.example.com/hooks/transfers', x'7b7d')`

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

/** A folder with an inbox that the first version has written. */
async function withOldInbox(): Promise<{ cwd: string; file: string }> {
  const config = JSON.stringify({ subscriptions: [SUBSCRIPTION], inbox: { file: 'callbacks.db' }, port: 0 })
  const cwd = await sandbox.directory({ 'countersign.config.json': config })
  const file = join(cwd, 'callbacks.db')
  await change(file, `${SCHEMA_1}; ${HANDLED}`)
  return { cwd, file }
}

async function change(file: string, sql: string): Promise<void> {
  const database = await openAside(file)
  database.exec(sql)
  database.close()
}

async function versionOf(file: string): Promise<unknown> {
  const database = await openAside(file)
  try {
    return (database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
  } finally {
    database.close()
  }
}

describe('an upgrade, as docs/operating.md describes it', () => {
  it('checks the old file and looks at it without changing it', async () => {
    const { cwd, file } = await withOldInbox()
    expect(await countersign(['serve', '--check'], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('callbacks.db\n  older schema: the start migrates it\n'),
    })
    const stats = await countersign(['inbox', 'stats'], { cwd })
    expect(stats).toMatchObject({ code: 1, stderr: expect.stringContaining('version 1') })
    expect(await versionOf(file)).toBe(1)
  })

  it('checks the new version while the old receiver runs', async () => {
    const { cwd } = await withOldInbox()
    const port = await freePort()
    const serve = sandbox.serve(['--port', String(port)], { cwd })
    await serve.port()
    const step = /^3\. Run `(.*?)` of the new version/m.exec(readFileSync(PAGE, 'utf8'))
    const env = { COUNTERSIGN_PORT: String(port) }
    expect(await runShell(step![1]!, { cwd, env })).toMatchObject({ code: 0 })
  })

  it('migrates the file when the first new process starts', async () => {
    const { cwd, file } = await withOldInbox()
    const serve = sandbox.serve([], { cwd })
    await serve.port()
    serve.signal('SIGTERM')
    expect(await serve.exit).toBe(0)
    expect(await versionOf(file)).toBe(SCHEMA_VERSION)
    expect((await countersign(['inbox', 'stats'], { cwd })).stdout).toMatch(/handled +1\n/)
  })

  it('migrates the file beforehand with countersign inbox migrate', async () => {
    const { cwd, file } = await withOldInbox()
    expect(await countersign(['inbox', 'migrate'], { cwd })).toMatchObject({ code: 0 })
    expect(await versionOf(file)).toBe(SCHEMA_VERSION)
  })
})

describe('going back a version, as docs/operating.md describes it', () => {
  it('is refused by a version that does not know the schema, which changes nothing', async () => {
    const { cwd, file } = await withOldInbox()
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
      const { cwd, file } = await withOldInbox()
      expect(await runShell(shellBlocks('Back up')[0]!, { cwd })).toMatchObject({ code: 0 })
      expect(await countersign(['inbox', 'migrate'], { cwd })).toMatchObject({ code: 0 })
      expect(await runShell(shellBlocks('Restore')[0]!, { cwd })).toMatchObject({
        // countersign inbox stats, of a newer version than the restored file.
        code: 1,
        stderr: expect.stringContaining('schema is version 1'),
      })
      expect(await versionOf(file)).toBe(1)
      expect(await versionOf(join(cwd, 'replaced/callbacks.db'))).toBe(SCHEMA_VERSION)
    },
  )
})
