import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { AddResult } from '../../src/inbox/engine.js'
import { addEventually } from '../support/add-eventually.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { startProgram } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { itWhere } from '../support/it-where.js'
import { inboxFile, inboxOn, openAside, temporaryDirectory } from '../support/sqlite-file.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const

describe('while another process holds the file', () => {
  it('goes on trying until it is released', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file)
    await inbox.open()
    const other = await openAside(file)
    other.exec('BEGIN IMMEDIATE')
    let added: AddResult | undefined
    const adding = inbox.add(arrival()).then((result) => (added = result))
    // Long enough for several tries, during which this process does other things.
    for (let turns = 0; turns < 1000; turns++) await nextTick()
    expect(added).toBeUndefined()
    other.exec('ROLLBACK')
    expect((await adding).result).toBe('stored')
    other.close()
  })

  it('gives up after busyTimeoutMs, and stores nothing', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file, { busyTimeoutMs: 50 })
    await inbox.open()
    const other = await openAside(file)
    other.exec('BEGIN IMMEDIATE')
    const adding = [arrival(), arrival()].map((each) => inbox.add(each))
    for (const each of adding) {
      await expect(each).rejects.toMatchObject({
        code: 'ERR_INBOX_BUSY',
        message: expect.stringContaining('is locked by another process'),
      })
    }
    other.exec('ROLLBACK')
    other.close()
    expect((await inbox.stats()).counts.stored).toBe(0)
  })

  it('still answers questions', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file)
    const { id } = await inbox.add(arrival())
    const other = await openAside(file)
    other.exec("BEGIN IMMEDIATE; UPDATE entries SET state = 'handled'")
    expect((await inbox.show(id))?.state).toBe('stored')
    other.exec('ROLLBACK')
    other.close()
  })

  it('waits for it to be opened', async () => {
    const file = inboxFile()
    const other = await openAside(file)
    other.exec('BEGIN EXCLUSIVE; CREATE TABLE passing (id INTEGER)')
    const inbox = inboxOn(file)
    const opening = inbox.open()
    for (let turns = 0; turns < 100; turns++) await nextTick()
    other.exec('ROLLBACK')
    await opening
    other.close()
  })
})

describe('goes on without a restart', () => {
  it('once the directory is there', async () => {
    const file = join(temporaryDirectory(), 'later', 'callbacks.db')
    const inbox = inboxOn(file)
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    mkdirSync(dirname(file))
    expect((await addEventually(inbox)).result).toBe('stored')
  })

  it('once a sound file is in the place of one that is damaged', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file)
    await inbox.add(arrival())
    await inbox.close()
    copyFileSync(file, `${file}.backup`)
    writeFileSync(file, Buffer.alloc(8192, 'x'))

    const again = inboxOn(file)
    await expect(again.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_CORRUPT' })
    copyFileSync(`${file}.backup`, file)
    expect((await addEventually(again)).result).toBe('stored')
    expect((await again.stats()).counts.stored).toBe(2)
  })

  it('once what turned out to be damaged in use has been replaced', async () => {
    const file = inboxFile()
    const body = 'x'.repeat(5000)
    const filling = inboxOn(file)
    await Promise.all(Array.from({ length: 100 }, () => filling.add(arrival({ body }))))
    await filling.close()
    copyFileSync(file, `${file}.backup`)
    const bytes = readFileSync(file)
    writeFileSync(file, bytes.fill(0xee, bytes.length / 2))

    const inbox = inboxOn(file)
    await inbox.open()
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_CORRUPT' })
    copyFileSync(`${file}.backup`, file)
    expect((await addEventually(inbox)).result).toBe('stored')
    expect((await inbox.stats()).counts.stored).toBe(101)
  })

  it('after its log was deleted, of which nothing is lost', async () => {
    const file = inboxFile()
    const log = collectedLog()
    const inbox = inboxOn(file, { logger: log })
    await inbox.add(arrival())
    rmSync(`${file}-wal`)
    await inbox.add(arrival())
    expect(log.withCode('ERR_INBOX_REPLACED')).toHaveLength(1)
    // By a process of its own, as after a crash of this one.
    const program = buildInboxProgram(
      temporaryDirectory(),
      'print((await new SqliteInbox({ file }).stats()).counts.stored)',
    )
    expect(await startProgram(process.execPath, [program, file]).ended).toEqual(['2'])
  })

  it('after another process has replaced the file, in which claims of the old one are not valid', async () => {
    const file = inboxFile()
    const [one, other] = [inboxOn(file, { logger: false }), inboxOn(file, { logger: false })]
    await one.add(arrival())
    const [old] = (await one.claim(ANY)).entries
    for (const each of [file, `${file}-wal`, `${file}-shm`]) rmSync(each)
    await other.add(arrival())
    const [claimed] = (await other.claim(ANY)).entries
    expect(claimed!.id).toBe(old!.id)
    expect(await one.begin([old!], 60_000)).toEqual(new Set())
    expect(await one.settle([{ claim: old!, end: { move: 'complete' } }])).toEqual(new Set())
    expect(await one.begin([claimed!], 60_000)).toEqual(new Set([claimed!.id]))
  })

  it('after the file was deleted, and says so', async () => {
    const file = inboxFile()
    const log = collectedLog()
    const inbox = inboxOn(file, { logger: log })
    await inbox.add(arrival())
    for (const each of [file, `${file}-wal`, `${file}-shm`]) rmSync(each)
    const { id } = await inbox.add(arrival())
    expect(log.withCode('ERR_INBOX_REPLACED')).toHaveLength(1)
    await inbox.close()
    expect(await inboxOn(file).show(id)).toMatchObject({ state: 'stored' })
  })
})

// A process loses its locks on a file when it closes it anywhere, and an older SQLite elsewhere then takes the log away.
itWhere(existsSync('/proc/locks'), '/proc/locks')(
  'keeps its locks when its process opens the file again',
  async () => {
    const file = inboxFile()
    // Each read of /proc/locks is consistent, but all of them together are not: if another process takes a lock in
    // between, the one read last is listed again under the next number.
    const locks = () => {
      // A file of another process, on another disk, may have the same number.
      const ofFile = new RegExp(` ${process.pid} [\\da-f:]+:${statSync(file).ino} `)
      const lines = readFileSync('/proc/locks', 'utf8').split('\n')
      return new Set(lines.filter((line) => ofFile.test(line)).map((line) => line.replace(/^\d+/, '')))
    }
    await inboxOn(file).add(arrival())
    expect(locks().size).toBe(1)
    await inboxOn(file).open()
    expect(locks().size).toBe(1)
  },
)

it('does not open again and again what cannot be opened', async () => {
  const file = join(temporaryDirectory(), 'nowhere', 'callbacks.db')
  const inbox = inboxOn(file)
  // It tries again after a second.
  const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
  const first = await inbox.add(arrival()).catch((error: unknown) => error)
  const second = await inbox.add(arrival()).catch((error: unknown) => error)
  now.mockRestore()
  expect((second as Error).cause).toBe((first as Error).cause)
})

// A disk in memory that only the program sees, where the system lets us have one. It binds root as well, as permissions
// do not.
const OWN_DISK = ['--user', '--map-root-user', '--mount']
const onOwnDisk = (script: string) =>
  spawnSync('unshare', [...OWN_DISK, 'sh', '-c', script], { stdio: 'ignore' }).status === 0
const MOUNT = 'mount -t tmpfs tmpfs /tmp'
const itWithDisk = itWhere(onOwnDisk(MOUNT), 'unshare --user --mount')
// Some systems let root alone change a mount.
const itWithReadOnlyDisk = itWhere(onOwnDisk(`${MOUNT} && mount -o remount,ro /tmp`), 'mount -o remount')

function runOnOwnDisk(statements: string): Promise<string[]> {
  const directory = temporaryDirectory()
  const program = buildInboxProgram(directory, statements)
  const disk = join(directory, 'disk')
  mkdirSync(disk)
  const script = 'mount -t tmpfs -o size=1m tmpfs "$1" && exec "$2" "$3" "$1/callbacks.db"'
  return startProgram('unshare', [...OWN_DISK, 'sh', '-c', script, 'sh', disk, process.execPath, program])
    .ended
}

itWithDisk('refuses while the disk is full, keeps what it has, and goes on once there is space', async () => {
  const printed = await runOnOwnDisk(`
    fs.writeFileSync(file + '.ballast', Buffer.alloc(400_000))
    const inbox = new SqliteInbox({ file })
    const ids = []
    let refusals = []
    while (refusals.length === 0) {
      const adding = Array.from({ length: 5 }, () => inbox.add(arrival({ body: 'x'.repeat(2000) })))
      const settled = await Promise.allSettled(adding)
      refusals = settled.filter(({ reason }) => reason).map(({ reason }) => reason.code)
      ids.push(...settled.filter(({ value }) => value).map(({ value }) => value.id))
    }
    print(refusals)
    const kept = ((await inbox.list({}, { limit: 10_000 })).entries).map(({ id }) => id)
    print(String(kept) === String(ids) && kept.length > 5)
    fs.rmSync(file + '.ballast')
    print((await inbox.add(arrival())).result)
    await inbox.close()
  `)
  expect(printed).toEqual([Array(5).fill('ERR_INBOX_FULL').join(), 'true', 'stored'])
})

itWithReadOnlyDisk('refuses while the file is read-only, and goes on once it is not', async () => {
  const printed = await runOnOwnDisk(`
    if (process.argv[3] === 'before') {
      const inbox = new SqliteInbox({ file })
      await inbox.add(arrival())
      return inbox.close()
    }
    // In a process of its own, as a disk with files that are open cannot become read-only.
    execFileSync(process.execPath, [process.argv[1], file, 'before'])
    const remount = (mode) => execFileSync('mount', ['-o', 'remount,' + mode, path.dirname(file)])
    remount('ro')
    const inbox = new SqliteInbox({ file })
    print(await inbox.add(arrival()).catch(({ code }) => code))
    remount('rw')
    await addEventually(inbox)
    print((await inbox.stats()).counts.stored)
    await inbox.close()
  `)
  expect(printed).toEqual(['ERR_INBOX_READ_ONLY', '2'])
})

const canLimit = spawnSync('prlimit', ['--version'], { stdio: 'ignore' }).status === 0

// Node ignores the signal that the limit comes with, so the write fails.
itWhere(canLimit, 'prlimit')('refuses while the disk fails, and goes on once it does not', async () => {
  const directory = temporaryDirectory()
  const program = buildInboxProgram(
    directory,
    `
    const limit = (bytes) => execFileSync('prlimit', ['--pid', process.pid, '--fsize=' + bytes + ':unlimited'])
    const inbox = new SqliteInbox({ file })
    await inbox.add(arrival())
    limit(fs.statSync(file + '-wal').size + 4096)
    print(await inbox.add(arrival({ body: 'x'.repeat(100_000) })).catch(({ code }) => code))
    limit('unlimited')
    await addEventually(inbox)
    print((await inbox.stats()).counts.stored)
    await inbox.close()
  `,
  )
  const { ended } = startProgram(process.execPath, [program, join(directory, 'callbacks.db')])
  expect(await ended).toEqual(['ERR_INBOX_IO', '2'])
})
