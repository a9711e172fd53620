import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
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

/** Adds one after the other, or a number of them, and prints what was added or refused; closes when its input ends. */
const ADDING = `
  const none = () => {}
  const logger = { debug: none, info: none, warn: none, error: ({ code }) => print('logged ' + code) }
  const inbox = new SqliteInbox({ file, busyTimeoutMs: 100, logger })
  let [isOver, left] = [false, Number(process.argv[3] ?? Infinity)]
  const ended = once(process.stdin.resume(), 'end').then(() => (isOver = true))
  while (!isOver && left-- > 0) {
    const each = arrival({ body: ${JSON.stringify(BODY)} })
    const key = each.callback.idempotencyKey
    await inbox.add(each).then(() => print('added ' + key), ({ code }) => print('refused ' + code))
    await nextTick()
  }
  await ended
  await inbox.close()
`

/** Does the same without the inbox, and does not look at failures of checkpoints. */
const CARELESS = `
  const { loadDriver } = await import('../../src/inbox/sqlite/driver.js')
  const { DatabaseSync } = await loadDriver()
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
  database.exec('CREATE TABLE entries (idempotency_key TEXT, body BLOB)')
  const insert = database.prepare('INSERT INTO entries VALUES (?, ?)')
  for (let key = 0; ; key++) {
    try {
      insert.run(String(key), Buffer.from(${JSON.stringify(BODY)}))
      print('added ' + key)
      if (key % 250 === 249) database.exec('PRAGMA wal_checkpoint(RESTART)')
    } catch {
      print('refused')
    }
    await nextTick()
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
  // On a busy machine the programs are far ahead of the test, and each copy needs as much room again.
  const disk = new FailingDisk(1_000, fileSystem)
  disks.push(disk)
  const file = join(disk.folder, 'callbacks.db')
  const program = buildInboxProgram(temporaryDirectory(), statements)
  const started: StartedProgram[] = []
  const lines = () => started.flatMap((each) => each.lines)
  return {
    disk,
    file,
    start(...args: readonly string[]): StartedProgram {
      const begun = startProgram(process.execPath, [program, file, ...args])
      begun.ended.catch(() => {})
      programs.push(begun)
      started.push(begun)
      return begun
    },
    /** Resolves when the program has printed `count` more lines that begin so. */
    async more(count: number, beginning: string): Promise<void> {
      const found = () => lines().filter((line) => line.startsWith(beginning)).length
      const before = found()
      await untilPrinted(started, () => found() >= before + count)
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
const itOnFailingDisk = itWhere(canMakeFailingDisks('ext4'), 'root, loop devices and mke2fs')

itOnFailingDisk(
  'when a sync of the database fails, nothing is answered 200 before the files were copied, and nothing is lost',
  async () => {
    const { disk, file, start, more, lines, afterPowerFailure } = onFailingDisk(ADDING)
    start()
    await more(1, 'added')
    // The log becomes longer than it will be, so that only the database needs blocks that were never written.
    const reader = await openAside(file)
    reader.exec('BEGIN; SELECT count(*) FROM entries')
    await until(() => statSync(`${file}-wal`).size > 20_000_000)
    reader.exec('ROLLBACK')
    reader.close()
    const beginnings = beginningsOf(file)
    await until(() => beginningsOf(file) > beginnings)
    const database = statSync(file).ino
    disk.fail()
    await more(1, 'refused ERR_INBOX_IO')
    expect(lines().filter((line) => line.startsWith('logged'))).toEqual(['logged ERR_INBOX_IO'])
    disk.heal()
    await more(700, 'added')
    expect(statSync(file).ino).not.toBe(database)
    expect(await afterPowerFailure()).toEqual(SOUND)
  },
  60_000,
)

for (const what of ['goes on', 'is killed', 'ends'])
  itOnFailingDisk(
    `when a sync of the log fails while another program reads, and the process ${what}, nothing is lost`,
    async () => {
      const { disk, file, start, more, lines, afterPowerFailure } = onFailingDisk(ADDING)
      const first = start()
      await more(100, 'added')
      const reader = await openAside(file)
      reader.exec('BEGIN; SELECT count(*) FROM entries')
      disk.fail()
      await more(1, 'refused')
      if (what === 'is killed') first.child.kill('SIGKILL')
      if (what === 'ends') first.child.stdin.end()
      if (what !== 'goes on') await first.ended
      disk.heal()
      if (what !== 'goes on') start()
      await more(700, 'added')
      reader.exec('ROLLBACK')
      reader.close()
      expect(await afterPowerFailure()).toEqual(SOUND)
      expect(lines()).toContain('logged ERR_INBOX_IO')
    },
    60_000,
  )

const fileSystems: FileSystem[] = ['ext4', 'ext4 with dioread_lock']
// Many kernels have no XFS, and need no test of it.
if (canMakeFailingDisks('XFS')) fileSystems.push('XFS')
else process.stderr.write('not tried, as the kernel or mkfs.xfs is missing: XFS\n')

for (const fileSystem of fileSystems)
  itOnFailingDisk(
    `when syncs fail while two processes write to ${fileSystem}, nothing is lost`,
    async () => {
      const { disk, start, more, afterPowerFailure } = onFailingDisk(ADDING, fileSystem)
      const [one] = [start(), start()]
      await more(300, 'added')
      disk.fail()
      await more(1, 'refused ERR_INBOX_IO')
      one.child.kill('SIGKILL')
      await one.ended
      disk.heal()
      start()
      await more(1_000, 'added')
      expect(await afterPowerFailure()).toEqual(SOUND)
    },
    60_000,
  )

itOnFailingDisk(
  'when the database cannot be synced at the end, what the log holds is not lost',
  async () => {
    const { disk, file, start, more, lines, afterPowerFailure } = onFailingDisk(ADDING)
    const first = start('100')
    await more(100, 'added')
    disk.fail()
    first.child.stdin.end()
    await first.ended
    disk.heal()
    expect(statSync(`${file}-doubt`).size).toBe(1)
    expect(await afterPowerFailure()).toEqual(SOUND)
    start('100')
    await more(100, 'added')
    expect(await afterPowerFailure()).toEqual(SOUND)
    expect(lines().filter((line) => line.startsWith('added'))).toHaveLength(200)
  },
  60_000,
)

itOnFailingDisk(
  'SQLite alone loses what it committed, if failures of its checkpoints are ignored',
  async () => {
    const { disk, start, more, afterPowerFailure } = onFailingDisk(CARELESS)
    start()
    await more(400, 'added')
    disk.fail()
    await more(1, 'refused')
    disk.heal()
    await more(1_000, 'added')
    const { lost, isSound } = await afterPowerFailure()
    expect(lost > 0 || !isSound).toBe(true)
  },
  60_000,
)
