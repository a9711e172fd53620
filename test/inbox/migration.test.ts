import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { refuseOlderFile, schemaVersionOf } from '../../src/inbox/sqlite/read-inbox-file.js'
import { migrate, MIGRATIONS, SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { inboxFile, openAside } from '../support/sqlite-file.js'

/** What a later version may bring. It fails if it is run twice. */
const LATER = "ALTER TABLE entries ADD COLUMN later TEXT NOT NULL DEFAULT 'as before'"
const WITH_LATER = [...MIGRATIONS, LATER]
const DIST = join(__dirname, '../../dist/inbox/sqlite')

async function withEntry(): Promise<string> {
  const file = inboxFile()
  const inbox = new SqliteInbox({ file })
  await inbox.add(arrival())
  await inbox.close()
  return file
}

/** Migrates in a process of its own. Resolves to what it printed. */
async function migrateElsewhere(file: string): Promise<string> {
  const program = `
    const { migrate, MIGRATIONS } = require(${JSON.stringify(join(DIST, 'schema.js'))})
    require(${JSON.stringify(join(DIST, 'driver.js'))}).loadDriver().then(({ DatabaseSync }) => {
      const database = new DatabaseSync(${JSON.stringify(file)})
      database.exec('PRAGMA busy_timeout = 10000')
      migrate(database, 'a.db', [...MIGRATIONS, ${JSON.stringify(LATER)}])
      console.log('done')
    })`
  const child = spawn(process.execPath, ['--eval', program], { stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
  await once(child, 'close')
  return Buffer.concat(chunks).toString()
}

it('a step of a later version is run once, whichever of several processes comes first, and keeps the entries', async () => {
  const file = await withEntry()
  const printed = await Promise.all(Array.from({ length: 4 }, () => migrateElsewhere(file)))
  expect(printed).toEqual(Array(4).fill('done\n'))
  const database = await openAside(file)
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION + 1 })
  expect(database.prepare('SELECT state, later FROM entries').all()).toEqual([
    { state: 'stored', later: 'as before' },
  ])
  database.close()
})

it('a step is not run while another process writes', async () => {
  const file = await withEntry()
  const [other, database] = [await openAside(file), await openAside(file)]
  other.exec('BEGIN IMMEDIATE')
  expect(() => migrate(database, file, WITH_LATER)).toThrow(/locked/)
  other.exec('COMMIT')
  migrate(database, file, WITH_LATER)
  for (const each of [other, database]) each.close()
})

it('a step that fails leaves the file as it was', async () => {
  const file = await withEntry()
  const database = await openAside(file)
  expect(() => migrate(database, file, [...WITH_LATER, 'no statement'])).toThrow(/syntax error/)
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION })
  expect(database.prepare('SELECT * FROM entries').get()).not.toHaveProperty('later')
  database.close()
})

it('a command does not migrate the file of an older version, which its receivers may be using', async () => {
  const file = await withEntry()
  await refuseOlderFile(file)
  await expect(refuseOlderFile(file, SCHEMA_VERSION + 1)).rejects.toMatchObject({
    code: 'ERR_INBOX_OLDER',
    message: expect.stringContaining(`its schema is version ${SCHEMA_VERSION}`),
  })
  expect(await schemaVersionOf(file)).toBe(SCHEMA_VERSION)
})
