import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readInboxFile } from '../../src/inbox/sqlite/read-inbox-file.js'
import { SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import { addEventually } from '../support/add-eventually.js'
import { arrival } from '../support/arrivals.js'
import { startProgram } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { itWhere } from '../support/it-where.js'
import { findProgram } from '../support/server-program.js'
import { inboxFile, inboxOn, openAside, temporaryDirectory } from '../support/sqlite-file.js'
import { settle } from '../support/settle.js'

/** What is beside the file and what is in it. */
const snapshot = (file: string) => ({
  files: readdirSync(dirname(file)).filter((name) => name.startsWith(basename(file))),
  bytes: readFileSync(file).toString('base64'),
})

/** Makes a database of another program, by a process that has ended since. */
async function foreign(journalMode: string): Promise<string> {
  const directory = temporaryDirectory()
  const file = join(directory, 'accounts.db')
  const statements = `
    const { loadDriver } = await import('../../src/inbox/sqlite/driver.js')
    const { DatabaseSync } = await loadDriver()
    const database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = ${journalMode}; CREATE TABLE accounts (id INTEGER); PRAGMA application_id = 7')
    database.close()
  `
  await startProgram(process.execPath, [buildInboxProgram(directory, statements), file]).ended
  return file
}

describe('the database of another program', () => {
  it.each(['DELETE', 'WAL'])('is left as it is, with journal_mode %s', async (mode) => {
    const file = await foreign(mode)
    const before = snapshot(file)
    expect(before.files).toEqual(['accounts.db'])
    const refused = { code: 'ERR_INBOX_CORRUPT', message: expect.stringContaining('of another program') }
    await expect(inboxOn(file).open()).rejects.toMatchObject(refused)
    await expect(inboxOn(file).add(arrival())).rejects.toMatchObject(refused)
    await expect(readInboxFile(file, () => 1)).rejects.toMatchObject(refused)
    expect(snapshot(file)).toEqual(before)
  })

  it('is recognised while its tables are in its log only', async () => {
    const file = join(temporaryDirectory(), 'accounts.db')
    const other = await openAside(file)
    other.exec('PRAGMA journal_mode = WAL; CREATE TABLE accounts (id INTEGER)')
    const before = snapshot(file)
    await expect(inboxOn(file).open()).rejects.toMatchObject({ code: 'ERR_INBOX_CORRUPT' })
    expect(snapshot(file)).toEqual(before)
    other.close()
  })

  it('is left as it is where it is no database at all', async () => {
    const file = join(temporaryDirectory(), 'notes.txt')
    writeFileSync(file, 'x'.repeat(10_000))
    const before = snapshot(file)
    await expect(inboxOn(file).open()).rejects.toMatchObject({ code: 'ERR_INBOX_CORRUPT' })
    expect(snapshot(file)).toEqual(before)
  })
})

describe('a file that a newer version has migrated while it was open', () => {
  it('is neither written nor read any more, until the newer schema is gone', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file)
    await inbox.add(arrival())
    const {
      entries: [claim],
    } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
    const newer = await openAside(file)
    newer.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
    for (const ask of [
      () => inbox.add(arrival()),
      () => inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 }),
      () => settle(inbox, claim!, { move: 'complete' }),
      () => inbox.extend([claim!], 60_000),
      () => inbox.act('1', 'discard', 'ann'),
      () => inbox.stats(),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: 'ERR_INBOX_NEWER' })
    }
    newer.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
    newer.close()
    await addEventually(inbox)
    expect(await inbox.stats()).toMatchObject({ counts: { stored: 1, running: 1 } })
  })

  it('refuses all that was asked for together', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file)
    await inbox.open()
    const newer = await openAside(file)
    newer.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
    const settled = await Promise.allSettled(Array.from({ length: 20 }, () => inbox.add(arrival())))
    expect(
      settled.every((each) => each.status === 'rejected' && each.reason.code === 'ERR_INBOX_NEWER'),
    ).toBe(true)
    newer.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
    newer.close()
  })
})

itWhere(findProgram('sqlite3') !== undefined, 'sqlite3')(
  'a file that was restored from before its schema while it was open is opened anew and brought up to date',
  async () => {
    const [file, backup] = [inboxFile(), inboxFile()]
    const old = await openAside(backup)
    old.exec('PRAGMA application_id = 0x4353494e')
    old.close()
    const inbox = inboxOn(file)
    await inbox.add(arrival())
    execFileSync('sqlite3', [file, `.restore ${backup}`])
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
    expect((await addEventually(inbox)).result).toBe('stored')
    expect(await inbox.stats()).toMatchObject({ counts: { stored: 1 } })
  },
)
