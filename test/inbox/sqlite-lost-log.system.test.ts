import { existsSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { addEventually } from '../support/add-eventually.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { startProgram, untilPrinted, type StartedProgram } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { openAside, temporaryDirectory } from '../support/sqlite-file.js'

const open: SqliteInbox[] = []
const programs: StartedProgram[] = []
afterEach(async () => {
  for (const { child } of programs.splice(0)) child.kill('SIGKILL')
  await Promise.all(open.splice(0).map((inbox) => inbox.close()))
})

function inboxOn(file: string, options: object = {}): SqliteInbox {
  const inbox = new SqliteInbox({ file, ...options })
  open.push(inbox)
  return inbox
}

const removeLog = (file: string) => {
  for (const each of ['-wal', '-shm']) rmSync(`${file}${each}`, { force: true })
}

/** Adds one after the other and prints what was added or refused, until its input ends; then closes. */
const ADDING = `
  const inbox = new SqliteInbox({ file, busyTimeoutMs: 100 })
  let isOver = false
  process.stdin.resume().once('end', () => (isOver = true))
  while (!isOver) {
    await inbox.add(arrival()).then(({ id }) => print('added ' + id), ({ code }) => print('refused ' + code))
  }
  await inbox.close()
`

/** Adds one, prints it, waits until its input ends, and closes. */
const HOLDING = `
  const inbox = new SqliteInbox({ file, busyTimeoutMs: 100 })
  print('added ' + (await inbox.add(arrival())).id)
  await once(process.stdin.resume(), 'end')
  await inbox.close()
`

/** Adds one for each line of its input, and prints it; then closes. */
const ADDING_EACH = `
  const inbox = new SqliteInbox({ file, busyTimeoutMs: 100 })
  for await (const line of createInterface(process.stdin)) print('added ' + (await inbox.add(arrival())).id)
  await inbox.close()
`

/** Another program that reads what the file has now, until it is killed. */
const READING = `
  const { loadDriver } = await import('../../src/inbox/sqlite/driver.js')
  const { DatabaseSync } = await loadDriver()
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; BEGIN; SELECT count(*) FROM sqlite_schema')
  print('reading')
  await once(process.stdin.resume(), 'end')
`

function program(statements: string) {
  const directory = temporaryDirectory()
  const file = join(directory, 'callbacks.db')
  const path = buildInboxProgram(directory, statements)
  return {
    file,
    start() {
      const started = startProgram(process.execPath, [path, file])
      programs.push(started)
      return started
    },
  }
}

const idsAdded = (lines: readonly string[]) =>
  lines.filter((line) => line.startsWith('added')).map((line) => Number(line.slice(6)))

/** Whether the file is sound, and the ids in it. */
async function look(file: string) {
  const database = await openAside(file)
  const sound = database.prepare('PRAGMA integrity_check').all()
  const rows = database.prepare('SELECT id FROM entries').all() as { id: number }[]
  database.close()
  return { sound, ids: new Set(rows.map(({ id }) => id)) }
}

/** An inbox with one entry, which another connection has copied from `-wal` into the file itself. */
async function withEmptiedLog() {
  const file = join(temporaryDirectory(), 'callbacks.db')
  const log = collectedLog()
  const inbox = inboxOn(file, { logger: log })
  await inbox.add(arrival())
  const other = await openAside(file)
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()
  return { file, log, inbox }
}

it('several processes go on with a log that alone has the schema', async () => {
  const { file, start } = program(ADDING_EACH)
  const reading = buildInboxProgram(temporaryDirectory(), READING)
  const add = async (each: StartedProgram) => {
    const count = each.lines.length
    each.child.stdin.write('add\n')
    await untilPrinted([each], () => each.lines.length > count)
  }
  const reader = startProgram(process.execPath, [reading, file])
  programs.push(reader)
  await untilPrinted([reader], () => reader.lines.length === 1)
  const killed = start()
  await add(killed)
  for (const { child, ended } of [killed, reader]) {
    child.kill('SIGKILL')
    await ended
  }
  // As after a copy of both files.
  truncateSync(`${file}-writing`)
  const [one, two] = [start(), start()]
  for (const each of [one, two, one, two]) await add(each)
  for (const { child } of [one, two]) child.stdin.end()
  const lines = [killed.lines, await one.ended, await two.ended]
  expect(lines).toEqual([['added 1'], ['added 2', 'added 4'], ['added 3', 'added 5']])
  expect(await look(file)).toEqual({ sound: [{ integrity_check: 'ok' }], ids: new Set([1, 2, 3, 4, 5]) })
})

describe('when -wal and -shm are deleted', () => {
  it('several processes neither damage the file nor lose what they have stored', async () => {
    const { file, start } = program(ADDING)
    const running = Array.from({ length: 3 }, start)
    await untilPrinted(running, () => running.every(({ lines }) => lines.length > 50))
    removeLog(file)
    const counts = running.map(({ lines }) => lines.length)
    await untilPrinted(running, () => running.every(({ lines }, index) => lines.length > counts[index]! + 5))
    for (const { child } of running) child.stdin.end()
    const lines = (await Promise.all(running.map(({ ended }) => ended))).flat()
    // A process that opens the file while another one makes a new log sometimes gets SQLITE_IOERR, and refuses for a second.
    const unexpected = /^(?!added \d+$|refused ERR_INBOX_(REPLACED|BUSY|IO)$)/
    expect(lines.filter((line) => unexpected.test(line))).toEqual([])
    const { sound, ids } = await look(file)
    expect(sound).toEqual([{ integrity_check: 'ok' }])
    expect(idsAdded(lines).filter((id) => !ids.has(id))).toEqual([])
  }, 60_000)

  it('a process that is started while another has the deleted ones is refused, until that has ended', async () => {
    const { file, start } = program(HOLDING)
    const holder = start()
    await untilPrinted([holder], () => holder.lines.length === 1)
    removeLog(file)
    const late = inboxOn(file, { busyTimeoutMs: 50 })
    for (const asked of [late.open(), late.stats(), late.add(arrival())]) {
      await expect(asked).rejects.toMatchObject({
        code: 'ERR_INBOX_REPLACED',
        message: expect.stringMatching(/Stop every process that uses the file/),
      })
    }
    expect(existsSync(`${file}-wal`)).toBe(false)
    holder.child.stdin.end()
    await holder.ended
    expect((await addEventually(late)).result).toBe('stored')
    expect((await late.stats()).counts.stored).toBe(2)
  })

  it('an inbox is refused while the same process has the deleted ones in another way', async () => {
    const file = join(temporaryDirectory(), 'callbacks.db')
    const inbox = inboxOn(file)
    await inbox.add(arrival())
    const beside = await openAside(file)
    beside.exec('SELECT count(*) FROM entries')
    await inbox.close()
    rmSync(`${file}-shm`)
    const late = inboxOn(file, { busyTimeoutMs: 50 })
    await expect(late.open()).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
    beside.close()
    expect((await addEventually(late)).result).toBe('stored')
    expect((await late.stats()).counts.stored).toBe(2)
  })

  it.each(['-wal', '-shm'])('a process that is alone goes on when only %s was deleted', async (which) => {
    const file = join(temporaryDirectory(), 'callbacks.db')
    const log = collectedLog()
    const inbox = inboxOn(file, { logger: log })
    await inbox.add(arrival())
    rmSync(`${file}${which}`)
    expect((await inbox.add(arrival())).result).toBe('stored')
    expect((await inbox.stats()).counts.stored).toBe(2)
    expect(log.withCode('ERR_INBOX_REPLACED')).toHaveLength(1)
    await inbox.close()
    expect((await look(file)).sound).toEqual([{ integrity_check: 'ok' }])
  })

  it('and another program has written since, nothing is written any more', async () => {
    const file = join(temporaryDirectory(), 'callbacks.db')
    const log = collectedLog()
    const inbox = inboxOn(file, { logger: log })
    await inbox.add(arrival())
    removeLog(file)
    // As another program would leave them that has opened the file without our log.
    writeFileSync(`${file}-wal`, Buffer.alloc(32))
    writeFileSync(`${file}-shm`, Buffer.alloc(32_768))
    const before = statSync(file).size
    for (let i = 0; i < 2; i++) {
      await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
      await expect(inbox.stats()).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
    }
    expect(statSync(file).size).toBe(before)
    expect(log.withCode('ERR_INBOX_REPLACED')).toHaveLength(1)
  })
})

it('when the database alone was deleted, its log does not get into the new one', async () => {
  const file = join(temporaryDirectory(), 'callbacks.db')
  const inbox = inboxOn(file, { logger: false })
  await inbox.add(arrival())
  rmSync(file)
  expect((await inbox.add(arrival())).result).toBe('stored')
  expect((await inbox.stats()).counts.stored).toBe(1)
  await inbox.close()
  expect(await look(file)).toEqual({ sound: [{ integrity_check: 'ok' }], ids: new Set([1]) })
})

describe('when -wal is shortened', () => {
  it.each([0, 32, 20_000])('to %d bytes, nothing is written or read any more', async (bytes) => {
    const file = join(temporaryDirectory(), 'callbacks.db')
    const log = collectedLog()
    const inbox = inboxOn(file, { logger: log })
    for (let i = 0; i < 5; i++) await inbox.add(arrival())
    truncateSync(`${file}-wal`, bytes)
    for (let i = 0; i < 2; i++) {
      await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
      await expect(inbox.stats()).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
    }
    expect(log.withCode('ERR_INBOX_REPLACED')).toHaveLength(1)
    expect(statSync(`${file}-wal`).size).toBe(bytes)
  })

  it('by its last byte only, nothing is written or read any more', async () => {
    const file = join(temporaryDirectory(), 'callbacks.db')
    const inbox = inboxOn(file, { logger: false })
    for (let i = 0; i < 5; i++) await inbox.add(arrival())
    truncateSync(`${file}-wal`, statSync(`${file}-wal`).size - 1)
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
    await expect(inbox.stats()).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
  })

  it.each([0, 20_000])('to %d bytes, the file is sound when the process has ended', async (bytes) => {
    const { file, start } = program(`
      const inbox = new SqliteInbox({ file, busyTimeoutMs: 100 })
      for (let i = 0; i < 5; i++) await inbox.add(arrival())
      fs.truncateSync(file + '-wal', ${bytes})
      await inbox.add(arrival()).catch(({ code }) => print(code))
      await inbox.close()`)
    expect(await start().ended).toEqual(['ERR_INBOX_REPLACED'])
    expect((await look(file)).sound).toEqual([{ integrity_check: 'ok' }])
    expect((await inboxOn(file).add(arrival())).result).toBe('stored')
  })

  it('to 0 bytes, an inbox that nobody else has open goes on with what is in the file', async () => {
    const { file, log, inbox } = await withEmptiedLog()
    await inbox.add(arrival())
    truncateSync(`${file}-wal`, 0)
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
    expect((await addEventually(inbox)).result).toBe('stored')
    expect(log.lines.at(-1)!.message).toContain('it is opened anew')
    await inbox.close()
    expect(await look(file)).toEqual({ sound: [{ integrity_check: 'ok' }], ids: new Set([1, 2]) })
  })

  it.each([
    ['to 20,000 bytes', 20_000, false],
    ['to 0 bytes, while another inbox has it open', 0, true],
  ])('%s, it stays out of use', async (_how, bytes, isShared) => {
    const file = join(temporaryDirectory(), 'callbacks.db')
    const [inbox, other] = [inboxOn(file, { logger: false }), inboxOn(file, { logger: false })]
    if (isShared) await other.open()
    for (let i = 0; i < 5; i++) await inbox.add(arrival())
    truncateSync(`${file}-wal`, bytes)
    const now = jest.spyOn(performance, 'now')
    for (let tries = 0; tries < 5; tries++) {
      await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_REPLACED' })
      const later = performance.now() + 2_000
      now.mockImplementation(() => later)
    }
    now.mockRestore()
  })

  it('by a process that has copied it, callbacks are stored as before', async () => {
    const { file, log, inbox } = await withEmptiedLog()
    expect(statSync(`${file}-wal`).size).toBe(0)
    expect((await inbox.add(arrival())).result).toBe('stored')
    expect((await inbox.stats()).counts.stored).toBe(2)
    expect(log.withCode('ERR_INBOX_REPLACED')).toHaveLength(0)
  })
})
