import { existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { Connection } from '../../src/inbox/sqlite/connection.js'
import { loadDriver } from '../../src/inbox/sqlite/driver.js'
import { openDatabase } from '../../src/inbox/sqlite/open-database.js'
import { addEventually } from '../support/add-eventually.js'
import { arrival } from '../support/arrivals.js'
import { countersign } from '../cli/program.js'
import { startProgram, untilPrinted } from '../support/built-program.js'
import { collectedLog } from '../support/collected-log.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { inboxFile, inboxOn, openAside, temporaryDirectory } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

const { run: realRun, get: realGet } = Connection.prototype
afterEach(() => jest.restoreAllMocks())

/** A result of SQLite (https://sqlite.org/rescode.html). */
const result = (errcode: number) => Object.assign(new Error('disk I/O error'), { errcode })
const [SYNC_FAILED, FULL] = [1034, 13]

/** The next commit is written, and then fails. */
function failNextCommit(errcode: number): void {
  let isNext = true
  jest.spyOn(Connection.prototype, 'run').mockImplementation(function (this: Connection, sql, ...values) {
    const done = realRun.call(this, sql, ...values)
    if (sql !== 'COMMIT' || !isNext) return done
    isNext = false
    throw result(errcode)
  })
}

function failNextCheckpoint(errcode: number): void {
  let isNext = true
  jest.spyOn(Connection.prototype, 'get').mockImplementation(function (this: Connection, sql, ...values) {
    const row = realGet.call(this, sql, ...values)
    if (!/wal_checkpoint\((FULL|TRUNCATE)\)/.test(sql) || !isNext) return row
    isNext = false
    throw result(errcode)
  })
}

const inodeOf = (file: string) => statSync(file).ino
const doubtBytes = (file: string) => statSync(`${file}-doubt`).size
const besides = (file: string) =>
  readdirSync(dirname(file)).filter((name) => name !== basename(file) && !/-(wal|shm)$/.test(name))
/** As a process leaves it that dies while it writes: 1 to the log, 3 to the database; 2 after a part of the log was copied. */
const leaveMark = (file: string, value: number) => truncateSync(`${file}-writing`, value)

describe('after a sync of a commit that failed', () => {
  it('refuses the whole batch, logs it once, and goes on with a copy that has all', async () => {
    const file = inboxFile()
    const log = collectedLog()
    const inbox = inboxOn(file, { logger: log })
    await inbox.add(arrival())
    const [database, twin] = [inodeOf(file), arrival()]
    failNextCommit(SYNC_FAILED)
    const adding = await Promise.allSettled([inbox.add(twin), inbox.add(arrival())])
    const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'ERR_INBOX_IO' }) }
    expect(adding).toEqual([refused, refused])
    expect(doubtBytes(file)).toBe(1)
    await expect(inbox.add(twin)).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    expect(log.withCode('ERR_INBOX_IO')).toHaveLength(1)
    // It was written, and is recognised now that it is on the disk.
    expect((await addEventually(inbox, twin)).result).toBe('duplicate')
    expect(inodeOf(file)).not.toBe(database)
    expect(doubtBytes(file)).toBe(0)
    expect((await inbox.stats()).counts.stored).toBe(3)
    expect(log.lines.filter(({ message }) => /was copied to other blocks/.test(message))).toHaveLength(1)
    await inbox.close()
    expect(besides(file).sort()).toEqual(['callbacks.db-doubt', 'callbacks.db-gate', 'callbacks.db-writing'])
  })

  it('another inbox on the file acknowledges nothing either, and lets go of it although nothing is asked of it', async () => {
    const file = inboxFile()
    const [one, other, idle] = [inboxOn(file, { logger: false }), inboxOn(file), inboxOn(file)]
    await Promise.all([one.add(arrival()), other.add(arrival()), idle.open()])
    failNextCommit(SYNC_FAILED)
    await expect(one.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    await expect(other.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    expect((await addEventually(other)).result).toBe('stored')
    expect((await addEventually(one)).result).toBe('stored')
    expect((await addEventually(idle)).result).toBe('stored')
    expect((await idle.stats()).counts.stored).toBe(6)
  })

  it('a program that only reads does not keep it from going on', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file, { logger: false })
    await inbox.add(arrival())
    const reader = await openAside(file)
    reader.exec('BEGIN; SELECT count(*) FROM entries')
    failNextCommit(SYNC_FAILED)
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    expect((await addEventually(inbox)).result).toBe('stored')
    expect((await inbox.stats()).counts.stored).toBe(3)
    reader.exec('ROLLBACK')
    reader.close()
  })

  it('goes on after a copy that could not be completed', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file, { logger: false })
    await inbox.add(arrival())
    writeFileSync(`${file}.new`, 'half of it')
    failNextCommit(SYNC_FAILED)
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    expect((await addEventually(inbox)).result).toBe('stored')
    expect(existsSync(`${file}.new`)).toBe(false)
  })
})

it('a checkpoint whose sync failed is logged, and nothing is acknowledged before the files were copied', async () => {
  const file = inboxFile()
  const log = collectedLog()
  const inbox = inboxOn(file, { logger: log })
  await inbox.add(arrival())
  const database = inodeOf(file)
  failNextCheckpoint(SYNC_FAILED)
  await inbox.close()
  expect(log.withCode('ERR_INBOX_IO')).toHaveLength(1)
  expect(doubtBytes(file)).toBe(1)
  const again = inboxOn(file)
  expect((await again.add(arrival())).result).toBe('stored')
  expect(inodeOf(file)).not.toBe(database)
  expect((await again.stats()).counts.stored).toBe(2)
})

it('a commit that a full disk has refused is no doubt', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file)
  await inbox.add(arrival())
  const database = inodeOf(file)
  failNextCommit(FULL)
  await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_FULL' })
  expect((await inbox.add(arrival())).result).toBe('stored')
  expect(inodeOf(file)).toBe(database)
})

describe('where a process has died', () => {
  const ADDING = `
    const inbox = new SqliteInbox({ file })
    for (let i = 0; i < 3; i++) await inbox.add(arrival())
    print('added')
    setInterval(() => {}, 1_000)`

  async function killedProcess() {
    const directory = temporaryDirectory()
    const file = `${directory}/callbacks.db`
    const program = startProgram(process.execPath, [buildInboxProgram(directory, ADDING), file])
    program.ended.catch(() => {})
    await untilPrinted([program], () => program.lines.length === 1)
    program.child.kill('SIGKILL')
    await until(() => program.child.signalCode !== null)
    return file
  }

  it('its log is copied before it is used', async () => {
    const file = await killedProcess()
    const [database, log] = [inodeOf(file), inodeOf(`${file}-wal`)]
    const inbox = inboxOn(file)
    expect((await inbox.stats()).counts.stored).toBe(3)
    expect(inodeOf(`${file}-wal`)).not.toBe(log)
    expect(inodeOf(file)).toBe(database)
  })

  it.each([2, 3])('in or after a part of a checkpoint, both files are copied (%i)', async (mark) => {
    const file = await killedProcess()
    leaveMark(file, mark)
    const database = inodeOf(file)
    const inbox = inboxOn(file, { logger: false })
    expect((await inbox.stats()).counts.stored).toBe(3)
    expect(inodeOf(file)).not.toBe(database)
    expect(statSync(`${file}-writing`).size).toBe(0)
  })

  it('after a part of a checkpoint, what is marked stays so when another opens the inbox', async () => {
    const file = inboxFile()
    const [one, two] = [inboxOn(file), inboxOn(file)]
    await one.add(arrival())
    const reader = await openAside(file)
    reader.exec('BEGIN; SELECT count(*) FROM entries')
    await one.add(arrival())
    leaveMark(file, 2)
    await two.open()
    expect(statSync(`${file}-writing`).size).toBe(2)
    reader.exec('ROLLBACK')
    reader.close()
    await until(() => statSync(`${file}-writing`).size === 0)
  })

  it('its log is not copied into the database by who cannot open all of it', async () => {
    const file = await killedProcess()
    const driver = await loadDriver()
    let opened = 0
    class DatabaseSync extends driver.DatabaseSync {
      constructor(...given: ConstructorParameters<typeof driver.DatabaseSync>) {
        if (++opened === 3) throw new Error('no more')
        super(...given)
      }
    }
    const [bytes, logBytes] = [statSync(file).size, statSync(`${file}-wal`).size]
    expect(() => openDatabase({ ...driver, DatabaseSync }, file)).toThrow('no more')
    expect([statSync(file).size, statSync(`${file}-wal`).size]).toEqual([bytes, logBytes])
  })

  it('in a checkpoint while others had the inbox open, they accept nothing, let go of it, and go on with a copy', async () => {
    const file = inboxFile()
    const [busy, idle] = [inboxOn(file, { logger: false }), inboxOn(file)]
    await Promise.all([busy.add(arrival()), idle.open()])
    const database = inodeOf(file)
    leaveMark(file, 3)
    const refused = {
      code: 'ERR_INBOX_IO',
      message: expect.stringMatching(/a process has died while it wrote/),
    }
    await expect(busy.add(arrival())).rejects.toMatchObject(refused)
    expect((await addEventually(busy)).result).toBe('stored')
    expect(inodeOf(file)).not.toBe(database)
    expect((await addEventually(idle)).result).toBe('stored')
    expect((await idle.stats()).counts.stored).toBe(3)
  })

  describe('in a commit while others had the inbox open', () => {
    it('the next commit lets go of the blocks of the log before it', async () => {
      const file = inboxFile()
      const inbox = inboxOn(file)
      for (let i = 0; i < 3; i++) await inbox.add(arrival())
      const [database, bytes] = [inodeOf(file), statSync(`${file}-wal`).size]
      leaveMark(file, 1)
      expect((await inbox.add(arrival())).result).toBe('stored')
      expect(statSync(`${file}-wal`).size).toBeLessThan(bytes)
      expect(inodeOf(file)).toBe(database)
      expect(statSync(`${file}-writing`).size).toBe(0)
      expect((await inbox.stats()).counts.stored).toBe(4)
    })

    it('nothing is accepted while a reader keeps it from that, until the files were copied', async () => {
      const file = inboxFile()
      const inbox = inboxOn(file, { logger: false })
      await inbox.add(arrival())
      const database = inodeOf(file)
      const reader = await openAside(file)
      reader.exec('BEGIN; SELECT count(*) FROM entries')
      leaveMark(file, 1)
      await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
      expect((await addEventually(inbox)).result).toBe('stored')
      expect(inodeOf(file)).not.toBe(database)
      reader.exec('ROLLBACK')
      reader.close()
    })

    it('who opens it later waits for one that had it open, which looks although nothing is asked of it', async () => {
      const file = inboxFile()
      const [open, late] = [inboxOn(file), inboxOn(file)]
      await open.add(arrival())
      const bytes = statSync(`${file}-wal`).size
      leaveMark(file, 1)
      await late.open()
      expect(statSync(`${file}-wal`).size).toBeLessThan(bytes)
      expect((await late.add(arrival())).result).toBe('stored')
    })
  })
})

it('countersign inbox check copies what is in doubt, and says whether the inbox can be used', async () => {
  const directory = temporaryDirectory()
  const file = `${directory}/callbacks.db`
  const inbox = inboxOn(file, { logger: false })
  await inbox.add(arrival())
  await inbox.close()
  const database = inodeOf(file)
  truncateSync(`${file}-doubt`, 1)
  const checked = await countersign(['inbox', 'check'], { cwd: directory })
  expect(checked).toMatchObject({ code: 0, stdout: 'the inbox can be used\n' })
  expect(checked.stderr).toMatch(/was copied to other blocks of the disk/)
  expect(inodeOf(file)).not.toBe(database)
  // Somebody who has it open and does not let go of it.
  const gate = await openAside(`${file}-gate`)
  gate.exec('BEGIN; SELECT count(*) FROM sqlite_schema')
  truncateSync(`${file}-doubt`, 1)
  const refused = await countersign(['inbox', 'check'], { cwd: directory })
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/a write or a sync of the disk failed.* no other process has the inbox open/)
  gate.exec('ROLLBACK')
  gate.close()
})
