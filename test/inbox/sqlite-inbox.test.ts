import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { registerInboxTests } from './contract/register-inbox-tests.js'
import { addWithImpossible, arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { fakeClock } from '../support/fake-clock.js'
import { commitsIn, inboxFile, inboxOn, openAside, temporaryDirectory } from '../support/sqlite-file.js'

/** To make the schema in each test takes longer than the test. */
let emptyInbox: Buffer
beforeAll(async () => {
  const file = inboxFile()
  const inbox = new SqliteInbox({ file })
  await inbox.open()
  await inbox.close()
  emptyInbox = readFileSync(file)
})

registerInboxTests((retention) => {
  const clock = fakeClock()
  const file = inboxFile()
  writeFileSync(file, emptyInbox, { mode: 0o600 })
  return {
    inbox: new SqliteInbox({ file, ...retention, clock }),
    advance: (ms) => clock.advance(ms),
  }
})

describe('SqliteInbox', () => {
  it('refuses options that it does not have', () => {
    expect(() => new SqliteInbox({ file: 'callbacks.db', path: 'callbacks.db' } as { file: string })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION_UNKNOWN' }),
    )
  })

  it.each([[undefined], [''], [':memory:'], [42]])('refuses %p as its file', (file) => {
    expect(() => new SqliteInbox({ file: file as string })).toThrow(
      expect.objectContaining({
        code: 'ERR_OPTION_INVALID',
        message: expect.stringContaining('name a file'),
      }),
    )
  })

  it.each([
    ['callbacks.db\n', String.raw`"callbacks.db\n"`],
    [' postgres://ann:s3cret@db.example.com/callbacks', 'a text of 47 characters'],
  ])('refuses %j as its file, because of the white space', (file, shown) => {
    expect(() => new SqliteInbox({ file })).toThrow(
      expect.objectContaining({
        code: 'ERR_OPTION_INVALID',
        message: `new SqliteInbox: file is ${shown} with white space around it: leave out the white space.`,
      }),
    )
  })

  it('still has everything when it is opened again', async () => {
    const file = inboxFile()
    const first = inboxOn(file)
    const { id } = await first.add(arrival())
    await first.close()
    expect(await inboxOn(file).show(id)).toMatchObject({ id, state: 'stored' })
  })

  it('gives no id twice, not even once the latest entry was deleted', async () => {
    const clock = fakeClock()
    const inbox = inboxOn(inboxFile(), { retentionMs: 1, discardedRetentionMs: 1, clock })
    await inbox.add(arrival({ signedAt: new Date(clock() + 2) }))
    const { id } = await inbox.add(arrival())
    await inbox.act(id, 'discard', 'ann')
    clock.advance(2)
    expect(await inbox.prune({ state: 'discarded', limit: 10 })).toBe(1)
    expect((await inbox.add(arrival())).id).not.toBe(id)
  })

  it('makes files that nobody else can read', async () => {
    const file = inboxFile()
    await inboxOn(file).add(arrival())
    for (const each of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(each).mode & 0o777).toBe(0o600)
  })

  it('leaves the mode of a file that is there', async () => {
    const file = inboxFile()
    writeFileSync(file, '')
    chmodSync(file, 0o640)
    await inboxOn(file).open()
    expect(statSync(file).mode & 0o777).toBe(0o640)
  })

  it('keeps no more of a signature than half', async () => {
    const file = inboxFile()
    const { signature, ...rest } = arrival()
    const bytes = Buffer.from(signature, 'base64')
    const inbox = inboxOn(file)
    await inbox.add({ ...rest, signature })
    const database = await openAside(file)
    const row = database.prepare('SELECT * FROM entries').get() as Record<string, unknown>
    database.close()
    expect(Buffer.from(row['signature'] as Uint8Array)).toEqual(bytes.subarray(0, 16))
    const texts = Object.values(row).map((value) =>
      typeof value === 'object' && value
        ? Buffer.from(value as Uint8Array).toString('latin1')
        : String(value),
    )
    expect(texts.filter((text) => text.includes(bytes.toString('latin1', 16)))).toEqual([])
  })

  it('refuses what is asked of it once it is closed', async () => {
    const inbox = inboxOn(inboxFile())
    await inbox.open()
    await inbox.close()
    const closed = expect.objectContaining({ code: 'ERR_CLOSED' })
    await expect(inbox.add(arrival())).rejects.toEqual(closed)
    await expect(inbox.stats()).rejects.toEqual(closed)
    await expect(inbox.open()).rejects.toEqual(closed)
  })

  it('does what was asked for before it was closed', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file)
    const adding = Array.from({ length: 600 }, () => inbox.add(arrival()))
    await inbox.close()
    expect((await Promise.all(adding)).every(({ result }) => result === 'stored')).toBe(true)
    expect((await inboxOn(file).stats()).counts.stored).toBe(600)
  })

  it('needs not be opened before it is used', async () => {
    expect((await inboxOn(inboxFile()).add(arrival())).result).toBe('stored')
  })

  it('takes a clock that tells parts of milliseconds', async () => {
    const inbox = inboxOn(inboxFile(), { clock: () => 1_700_000_000_000.5 })
    const { id } = await inbox.add(arrival())
    const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
    expect(entries).toMatchObject([{ id }])
  })

  it('warns of a SQLite that may damage a shared file', async () => {
    const log = collectedLog()
    await inboxOn(inboxFile(), { logger: log }).open()
    const [{ version }] = [
      (await openAside(':memory:')).prepare('SELECT sqlite_version() AS version').get() as {
        version: string
      },
    ]
    const isOld = version.localeCompare('3.51.3', 'en', { numeric: true }) < 0
    expect(log.withCode('WARN_SQLITE_OLD')).toHaveLength(isOld ? 1 : 0)
  })

  describe('with operations of one turn of the event loop', () => {
    it('commits them together', async () => {
      const file = inboxFile()
      const inbox = inboxOn(file)
      await inbox.open()
      const before = commitsIn(file)
      await Promise.all(Array.from({ length: 100 }, () => inbox.add(arrival())))
      expect(commitsIn(file) - before).toBe(1)
    })

    it('commits operations of several turns one after the other', async () => {
      const file = inboxFile()
      const inbox = inboxOn(file)
      await inbox.open()
      const before = commitsIn(file)
      for (let i = 0; i < 5; i++) await inbox.add(arrival())
      expect(commitsIn(file) - before).toBe(5)
    })

    it('commits very many in several steps', async () => {
      const file = inboxFile()
      const inbox = inboxOn(file)
      await inbox.open()
      const before = commitsIn(file)
      await Promise.all(Array.from({ length: 600 }, () => inbox.add(arrival({ body: '{}' }))))
      expect(commitsIn(file) - before).toBe(3)
    })

    it('does not let one that cannot be done fail the others', async () => {
      const inbox = inboxOn(inboxFile())
      expect(await addWithImpossible(inbox)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect((await inbox.stats()).counts.stored).toBe(2)
    })

    it('does them in the order in which they were asked for', async () => {
      const inbox = inboxOn(inboxFile())
      const added = await Promise.all(Array.from({ length: 50 }, () => inbox.add(arrival())))
      const ids = added.map(({ id }) => id)
      expect(ids).toEqual(ids.toSorted((a, b) => Number(a) - Number(b)))
    })
  })

  describe('on a file that is not its own', () => {
    it('refuses one that a newer version has written, and names both versions', async () => {
      const file = inboxFile()
      const newer = await migrated(file)
      newer.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
      newer.close()
      await expect(inboxOn(file).open()).rejects.toMatchObject({
        code: 'ERR_INBOX_NEWER',
        message: expect.stringMatching(
          `callbacks.db .* version ${SCHEMA_VERSION + 1}, .* up to ${SCHEMA_VERSION}`,
        ),
      })
    })

    it('changes nothing in a database of another program', async () => {
      const file = inboxFile()
      const other = await openAside(file)
      other.exec('CREATE TABLE accounts (id INTEGER PRIMARY KEY)')
      await expect(inboxOn(file).open()).rejects.toMatchObject({
        code: 'ERR_INBOX_CORRUPT',
        message: expect.stringContaining('a database of another program'),
      })
      expect(other.prepare('SELECT name FROM sqlite_schema').all()).toHaveLength(1)
      other.close()
    })

    it.each([
      [
        'a file of something else',
        (file: string) => writeFileSync(file, 'x'.repeat(10_000)),
        'ERR_INBOX_CORRUPT',
      ],
      ['a directory that is not there', () => {}, 'ERR_INBOX_IO', 'nowhere/callbacks.db'],
    ])('says what is wrong with %s', async (_what, prepare, code, path = 'callbacks.db') => {
      const file = join(temporaryDirectory(), path)
      prepare(file)
      await expect(inboxOn(file).open()).rejects.toMatchObject({
        code,
        message: expect.stringContaining(file),
        cause: expect.anything(),
      })
    })

    it('says that a directory is not a file', async () => {
      const file = temporaryDirectory()
      await expect(inboxOn(file).open()).rejects.toMatchObject({
        code: 'ERR_INBOX_IO',
        message: `${file} is not a file: name the file of the inbox`,
      })
    })
  })

  it('gives each of several inboxes that open a new file at once its schema', async () => {
    const file = inboxFile()
    const inboxes = Array.from({ length: 5 }, () => inboxOn(file))
    await Promise.all(inboxes.map((inbox) => inbox.open()))
    await Promise.all(inboxes.map((inbox) => inbox.add(arrival())))
    expect((await inboxes[0]!.stats()).counts.stored).toBe(5)
  })
})

async function migrated(file: string) {
  const inbox = new SqliteInbox({ file })
  await inbox.open()
  await inbox.close()
  return openAside(file)
}
