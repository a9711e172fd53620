import { existsSync, readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { loadDriver } from '../../src/inbox/sqlite/driver.js'
import { startProgram, untilPrinted, type StartedProgram } from '../support/built-program.js'
import { canMakeFailingDisks, FailingDisk, type FileSystem } from '../support/failing-disk.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { itWhere } from '../support/it-where.js'
import { openAside, temporaryDirectory } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

/** About 16 pages, so that a log of 4,000 pages is soon there. */
const BODY = 'x'.repeat(60_000)

/** How many it may still add; a line of its input says it anew. Without a limit it would be far ahead of a test on a busy machine. */
const ALLOWED = `
  let [left, isOver, wake] = [0, false, () => {}]
  createInterface({ input: process.stdin })
    .on('line', (line) => wake((left = Number(line))))
    .on('close', () => wake((isOver = true)))
  async function mayAdd() {
    while (left === 0 && !isOver) await new Promise((resolve) => (wake = resolve))
    await nextTick()
    return !isOver
  }
`

/** Adds one after the other, and prints what was added or refused. */
const ADDING = `
  ${ALLOWED}
  const none = () => {}
  const logger = { debug: none, info: none, warn: none, error: ({ code }) => print('logged ' + code) }
  const inbox = new SqliteInbox({ file, busyTimeoutMs: 100, logger })
  while (await mayAdd()) {
    const each = arrival({ body: ${JSON.stringify(BODY)} })
    const added = () => print('added ' + each.callback.idempotencyKey, left--)
    await inbox.add(each).then(added, ({ code }) => print('refused ' + code))
  }
  await inbox.close()
`

/** Does the same without the inbox, and does not look at failures of checkpoints. */
const CARELESS = `
  ${ALLOWED}
  const { loadDriver } = await import('../../src/inbox/sqlite/driver.js')
  const { DatabaseSync } = await loadDriver()
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
  database.exec('CREATE TABLE entries (idempotency_key TEXT, body BLOB)')
  const insert = database.prepare('INSERT INTO entries VALUES (?, ?)')
  for (let key = 0; await mayAdd(); key++) {
    try {
      insert.run(String(key), Buffer.from(${JSON.stringify(BODY)}))
      print('added ' + key)
      left--
      if (key % 250 === 249) database.exec('PRAGMA wal_checkpoint(RESTART)')
    } catch {
      print('refused')
    }
  }
`

const disks: FailingDisk[] = []
const programs: StartedProgram[] = []
afterEach(async () => {
  for (const { child } of programs) child.kill('SIGKILL')
  await Promise.allSettled(programs.splice(0).map(({ ended }) => ended))
  for (const disk of disks.splice(0)) disk.remove()
})

function onFailingDisk(statements: string, fileSystem?: FileSystem) {
  const disk = new FailingDisk(1_000, fileSystem)
  disks.push(disk)
  const file = join(disk.folder, 'callbacks.db')
  const program = buildInboxProgram(temporaryDirectory(), statements)
  const started: StartedProgram[] = []
  const lines = () => started.flatMap((each) => each.lines)
  const allow = (count: number, each: StartedProgram) => each.child.stdin.write(`${count}\n`)
  const count = (beginning: string) => lines().filter((line) => line.startsWith(beginning)).length
  return {
    disk,
    file,
    start(): StartedProgram {
      const begun = startProgram(process.execPath, [program, file])
      begun.ended.catch(() => {})
      programs.push(begun)
      started.push(begun)
      return begun
    },
    /** Resolves when these have added so many each; then nobody writes. */
    async add(each: number, ...adding: readonly StartedProgram[]): Promise<void> {
      const before = count('added')
      for (const program of adding) allow(each, program)
      await untilPrinted(started, () => count('added') >= before + each * adding.length)
    },
    /** Lets these go on until the text was printed. */
    async addUntil(text: string, ...adding: readonly StartedProgram[]): Promise<void> {
      for (const program of adding) allow(Infinity, program)
      await untilPrinted(started, () => count(text) > 0)
    },
    lines,
    async afterPowerFailure() {
      const answered = lines()
        .filter((line) => line.startsWith('added '))
        .map((line) => line.slice(6))
      // What a disk has while it is copied belongs to one moment only if nobody writes.
      for (const { child } of started) child.kill('SIGSTOP')
      await until(() => started.every(({ child }) => hasStopped(child.pid!)))
      const folder = disk.afterPowerFailure()
      for (const { child } of started) child.kill('SIGCONT')
      return look(join(folder, 'callbacks.db'), answered)
    },
  }
}

/** Whether each thread of a process has stopped, or the process has ended. */
function hasStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`
  if (!existsSync(tasks)) return true
  return readdirSync(tasks).every((task) =>
    /\) [TZX] /.test(readFileSync(join(tasks, task, 'stat'), 'latin1')),
  )
}

/** Of an inbox, or of what the program without one has written. */
const KEY_OF = "SELECT body FROM entries WHERE idempotency_key IN (?1, unhex(replace(?1, '-', '')))"

/** How many of the answered callbacks a file has not, or not whole, and what SQLite says about it. */
async function look(file: string, answered: readonly string[]) {
  const { DatabaseSync } = await loadDriver()
  const database = new DatabaseSync(file)
  const body = Buffer.from(BODY)
  const isWhole = (key: string) => {
    try {
      const row = database.prepare(KEY_OF).get(key)
      return body.equals((row as { body: Uint8Array }).body)
    } catch {
      return false
    }
  }
  const lost = answered.filter((key) => !isWhole(key)).length
  let isSound = false
  try {
    const { integrity_check: said } = database.prepare('PRAGMA integrity_check(1)').get() as {
      integrity_check: string
    }
    isSound = said === 'ok'
  } catch {
    // So damaged that it cannot be checked.
  }
  database.close()
  return { lost, isSound }
}

/** How often the log has begun anew (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
const beginningsOf = (file: string) => readFileSync(`${file}-wal`).readUInt32BE(12)

const SOUND = { lost: 0, isSound: true }
// Several waits, of which each has its own time limit.
jest.setTimeout(120_000)
const itOnFailingDisk = itWhere(canMakeFailingDisks('ext4'), 'root, loop devices and mke2fs')

itOnFailingDisk(
  'when a sync of the database fails, nothing is answered 200 before the files were copied, and nothing is lost',
  async () => {
    const { disk, file, start, add, addUntil, lines, afterPowerFailure } = onFailingDisk(ADDING)
    const program = start()
    await add(1, program)
    // The log becomes longer than it will be, so that only the database needs blocks that were never written.
    const reader = await openAside(file)
    reader.exec('BEGIN; SELECT count(*) FROM entries')
    await add(400, program)
    reader.exec('ROLLBACK')
    reader.close()
    const beginnings = beginningsOf(file)
    await add(300, program)
    expect(beginningsOf(file)).toBeGreaterThan(beginnings)
    const database = statSync(file).ino
    disk.fail()
    await addUntil('refused ERR_INBOX_IO', program)
    expect(lines().filter((line) => line.startsWith('logged'))).toEqual(['logged ERR_INBOX_IO'])
    disk.heal()
    await add(700, program)
    expect(statSync(file).ino).not.toBe(database)
    expect(await afterPowerFailure()).toEqual(SOUND)
  },
)

for (const what of ['goes on', 'is killed', 'ends'])
  itOnFailingDisk(
    `when a sync of the log fails while another program reads, and the process ${what}, nothing is lost`,
    async () => {
      const { disk, file, start, add, addUntil, lines, afterPowerFailure } = onFailingDisk(ADDING)
      const first = start()
      await add(100, first)
      const reader = await openAside(file)
      reader.exec('BEGIN; SELECT count(*) FROM entries')
      disk.fail()
      await addUntil('refused', first)
      if (what === 'is killed') first.child.kill('SIGKILL')
      if (what === 'ends') first.child.stdin.end()
      if (what !== 'goes on') await first.ended
      disk.heal()
      await add(550, what === 'goes on' ? first : start())
      reader.exec('ROLLBACK')
      reader.close()
      expect(await afterPowerFailure()).toEqual(SOUND)
      expect(lines()).toContain('logged ERR_INBOX_IO')
    },
  )

const fileSystems: FileSystem[] = ['ext4', 'ext4 with dioread_lock']
// Many kernels have no XFS, and need no test of it.
if (canMakeFailingDisks('XFS')) fileSystems.push('XFS')
else process.stderr.write('not tried, as the kernel or mkfs.xfs is missing: XFS\n')

for (const fileSystem of fileSystems)
  itOnFailingDisk(`when syncs fail while two processes write to ${fileSystem}, nothing is lost`, async () => {
    const { disk, file, start, add, addUntil, afterPowerFailure } = onFailingDisk(ADDING, fileSystem)
    const [one, two] = [start(), start()]
    await add(150, one, two)
    disk.fail()
    await addUntil('refused ERR_INBOX_IO', one, two)
    for (const each of [file, `${file}-wal`]) disk.evict(each)
    one.child.kill('SIGKILL')
    await one.ended
    disk.heal()
    await add(350, two, start())
    expect(await afterPowerFailure()).toEqual(SOUND)
  })

itOnFailingDisk(
  'when one of two processes is killed in a commit whose sync fails, nothing is lost',
  async () => {
    const { disk, file, start, add, afterPowerFailure } = onFailingDisk(ADDING)
    const [killed, idle] = [start(), start()]
    await add(100, killed, idle)
    disk.fail()
    killed.child.stdin.write('Infinity\n')
    await until(() => statSync(`${file}-writing`).size > 0)
    killed.child.kill('SIGKILL')
    await killed.ended.catch(() => {})
    disk.heal()
    await add(350, start())
    expect(await afterPowerFailure()).toEqual(SOUND)
  },
)

itOnFailingDisk('when the power fails while the files are copied, nothing is lost', async () => {
  const { disk, file, start, add, addUntil, afterPowerFailure } = onFailingDisk(ADDING)
  const program = start()
  await add(300, program)
  const database = statSync(file).ino
  disk.fail()
  await addUntil('refused ERR_INBOX_IO', program)
  disk.heal()
  const isCopied = () => statSync(file).ino !== database
  for (const copy of [`${file}.new`, `${file}-wal.new`]) {
    await until(() => existsSync(copy) || isCopied())
    expect(await afterPowerFailure()).toEqual(SOUND)
  }
  await until(isCopied)
  expect(await afterPowerFailure()).toEqual(SOUND)
  await add(100, program)
  expect(await afterPowerFailure()).toEqual(SOUND)
})

itOnFailingDisk('when the database cannot be synced at the end, what the log holds is not lost', async () => {
  const { disk, file, start, add, lines, afterPowerFailure } = onFailingDisk(ADDING)
  const first = start()
  await add(100, first)
  disk.fail()
  first.child.stdin.end()
  await first.ended
  disk.heal()
  expect(statSync(`${file}-doubt`).size).toBe(1)
  expect(await afterPowerFailure()).toEqual(SOUND)
  await add(100, start())
  expect(await afterPowerFailure()).toEqual(SOUND)
  expect(lines().filter((line) => line.startsWith('added'))).toHaveLength(200)
})

itOnFailingDisk(
  'when the disk fails while a log is opened whose index is not there, nothing is lost',
  async () => {
    const { disk, file, start, add, addUntil, afterPowerFailure } = onFailingDisk(ADDING)
    const killed = start()
    await add(100, killed)
    killed.child.kill('SIGKILL')
    await killed.ended
    unlinkSync(`${file}-shm`)
    disk.fail()
    const next = start()
    await addUntil('refused', next)
    disk.heal()
    await add(1, next)
    expect(await afterPowerFailure()).toEqual(SOUND)
  },
)

itOnFailingDisk(
  'SQLite alone loses what it committed, if failures of its checkpoints are ignored',
  async () => {
    const { disk, start, add, addUntil, afterPowerFailure } = onFailingDisk(CARELESS)
    const program = start()
    await add(400, program)
    disk.fail()
    await addUntil('refused', program)
    disk.heal()
    await add(1_000, program)
    const { lost, isSound } = await afterPowerFailure()
    expect(lost > 0 || !isSound).toBe(true)
  },
)
