import { mkdtempSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadDriver, type SqliteDriver } from '../../src/inbox/sqlite/driver.js'
import { startProgram, untilPrinted, type StartedProgram } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { itWhere } from '../support/it-where.js'
import { canMakeRecordingDisks, RecordingDisk, type Image } from '../support/recording-disk.js'
import { temporaryDirectory } from '../support/sqlite-file.js'

/** Each line that it is given: how many callbacks it adds at once, and the bytes of each body. It handles one entry meanwhile. */
const ADDING = `
  const none = () => {}
  const inbox = new SqliteInbox({ file, busyTimeoutMs: 100, logger: { debug: none, info: none, warn: none, error: none } })
  const outcome = (work, said) => work.then(() => said, () => 'refused')
  for await (const line of createInterface(process.stdin)) {
    const [count, bytes] = line.split(' ').map(Number)
    const added = Array.from({ length: count }, () => {
      const each = arrival({ body: JSON.stringify('x'.repeat(bytes)) })
      return outcome(inbox.add(each), 'added ' + each.callback.idempotencyKey)
    })
    const claims = inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
    const handled = claims.then(async ({ entries: [entry] }) => {
      if (!entry) return 'nothing'
      await inbox.begin([entry], 60_000)
      const held = await inbox.settle([{ claim: entry, end: { move: 'complete' } }])
      return held.has(entry.id) ? 'handled ' + entry.callback.idempotencyKey : 'nothing'
    }).catch(() => 'refused')
    print((await Promise.all([...added, handled])).join('\\n') + '\\ndone')
  }
  await inbox.close()
`

/** SQLite alone, told by `mode` how durable it is to be. */
const careless = (mode: string) => `
  const { loadDriver } = await import('../../src/inbox/sqlite/driver.js')
  const { DatabaseSync } = await loadDriver()
  // With @photostructure/sqlite a statement does not keep its database from being garbage collected.
  let database, insert
  const opened = () => {
    database = new DatabaseSync(file)
    database.exec('PRAGMA busy_timeout = 1000; PRAGMA journal_mode = WAL; ${mode}')
    database.exec('CREATE TABLE IF NOT EXISTS entries (idempotency_key TEXT, state TEXT, body BLOB)')
    return database.prepare("INSERT INTO entries VALUES (?, 'stored', ?)")
  }
  for await (const line of createInterface(process.stdin)) {
    const [count, bytes] = line.split(' ').map(Number)
    for (let i = 0; i < count; i++) {
      const key = crypto.randomUUID()
      try {
        insert ??= opened()
        insert.run(key, Buffer.alloc(bytes, 'x'))
        print('added ' + key)
      } catch {
        print('refused')
      }
    }
    print('done')
  }
`

const random = seeded(Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32)))
const POINTS = Number(process.env['POINTS'] ?? 8)
/** How many syncs have failed at least, where syncs fail. */
const FAILED_SYNCS = 4

/** mulberry32. */
function seeded(seed: number): () => number {
  process.stderr.write(`power loss: SEED=${seed}\n`)
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const chance = (probability: number) => random() < probability
const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1))

function nextFailure(now: RecordingDisk['failing']): RecordingDisk['failing'] {
  if (now !== 'nothing') return chance(0.7) ? now : 'nothing'
  return chance(0.9) ? 'nothing' : chance(0.3) ? 'writes' : 'syncs'
}

let disk: RecordingDisk
let driver: SqliteDriver
beforeEach(async () => {
  driver = await loadDriver()
  disk = new RecordingDisk(random)
  await disk.mount()
})
const programs: StartedProgram[] = []
afterEach(async () => {
  disk.beforeSync = () => {}
  disk.failing = 'nothing'
  for (const { child } of programs) child.kill('SIGKILL')
  await Promise.allSettled(programs.splice(0).map(({ ended }) => ended))
  await disk.remove()
})

interface Case {
  readonly processes: number
  readonly points: number
  readonly fails: boolean
  /** Whether a process is killed now and then in a sync that fails. */
  readonly isKilled?: boolean
  /** With bodies so large that a running process copies its log into the database. */
  readonly isLarge?: boolean
}

interface Found {
  points: number
  images: number
  acknowledged: number
  failedSyncs: number
  readonly losses: string[]
}

/** Runs programs on the disk until the power has failed at so many points, each time with an image of each kind. */
async function powerFails(
  statements: string,
  { processes, points, fails, isKilled = false, isLarge = false }: Case,
): Promise<Found> {
  const program = buildInboxProgram(temporaryDirectory(), statements)
  const acknowledged = new Map<string, 'added' | 'handled'>()
  const found: Found = { points: 0, images: 0, acknowledged: 0, failedSyncs: 0, losses: [] }
  const powerMayFail = () => {
    if (!chance(isLarge ? 0.05 : 0.3)) return
    found.points++
    for (const image of isLarge ? LARGE_IMAGES : IMAGES) {
      found.images++
      const folder = mkdtempSync(join(tmpdir(), 'countersign-image-'))
      disk.writeImage(image, folder)
      const loss = lossIn(join(folder, 'callbacks.db'), acknowledged)
      if (loss !== undefined) found.losses.push(`${image} at ${found.points}: ${loss}`)
      rmSync(folder, { recursive: true })
    }
  }
  disk.beforeSync = () => {
    powerMayFail()
    // Also between the sync of a commit and that of a checkpoint.
    if (fails && chance(0.3)) disk.failing = nextFailure(disk.failing)
    // One of them is, perhaps, the one that would have learned that this sync has failed.
    if (isKilled && disk.failing === 'syncs' && programs.length > 0 && chance(0.1))
      programs[between(0, programs.length - 1)]!.child.kill('SIGKILL')
  }
  const read = (line: string) => {
    const [what, key] = line.split(' ')
    if (what === 'added' && !acknowledged.has(key!)) acknowledged.set(key!, 'added')
    if (what === 'handled') acknowledged.set(key!, 'handled')
  }
  // If the first syncs fail, nothing may be acknowledged for long.
  const isEnough = () =>
    found.points >= points && acknowledged.size > 0 && (!fails || disk.failedSyncs >= FAILED_SYNCS)
  const user = async () => {
    while (!isEnough() && found.losses.length < 5) {
      const started = startProgram(process.execPath, [program, join(disk.folder, 'callbacks.db')])
      programs.push(started)
      const ended = once(started.child, 'exit')
      const { lines, child } = started
      let seen = 0
      for (let rounds = isLarge ? 40 : between(1, 60); rounds > 0 && !isEnough() && !child.killed; rounds--) {
        if (fails) disk.failing = nextFailure(disk.failing)
        child.stdin.write(
          `${between(1, 4)} ${chance(isLarge ? 0.9 : 0.1) ? between(1_000, 400_000) : between(10, 3_000)}\n`,
        )
        const isDone = () => {
          if (child.killed) return true
          for (; seen < lines.length; seen++) {
            if (lines[seen] === 'done') return (seen++, true)
            read(lines[seen]!)
          }
          return false
        }
        await untilPrinted([started], isDone).catch((error: unknown) => {
          if (!child.killed) throw error
        })
        powerMayFail()
      }
      if (chance(0.5)) child.kill('SIGKILL')
      else child.stdin.end()
      await ended
      programs.splice(programs.indexOf(started), 1)
      disk.failing = 'nothing'
    }
  }
  await Promise.all(Array.from({ length: processes }, user))
  found.acknowledged = acknowledged.size
  found.failedSyncs = disk.failedSyncs
  process.stderr.write(`power loss: ${JSON.stringify(found)}\n`)
  return found
}

const IMAGES: readonly Image[] = ['synced', 'written', 'mixed', 'torn']
const LARGE_IMAGES: readonly Image[] = ['synced', 'mixed']

/** What a file lacks of what was acknowledged, or what is wrong with it. */
function lossIn(file: string, acknowledged: ReadonlyMap<string, 'added' | 'handled'>): string | undefined {
  if (acknowledged.size === 0) return undefined
  const database = new driver.DatabaseSync(file)
  try {
    const rows = database
      .prepare(
        "SELECT lower(iif(typeof(idempotency_key) = 'blob', hex(idempotency_key), replace(idempotency_key, '-', ''))) AS key, state FROM entries",
      )
      .all() as { key: string; state: string }[]
    const states = new Map(rows.map(({ key, state }) => [key, state]))
    const lost = [...acknowledged].filter(([key, what]) => {
      const state = states.get(key.replaceAll('-', ''))
      return state === undefined || (what === 'handled' && state !== 'handled')
    })
    if (lost.length > 0) return `${lost.length} of ${acknowledged.size} lost`
    const { integrity_check: said } = database.prepare('PRAGMA integrity_check(1)').get() as {
      integrity_check: string
    }
    return said === 'ok' ? undefined : said
  } catch (error) {
    return (error as Error).message
  } finally {
    database.close()
  }
}

const itRecorded = itWhere(canMakeRecordingDisks, 'root and FUSE')
const LIMIT_MS = 3_600_000

for (const processes of [1, 2])
  for (const fails of [false, true])
    for (const isLarge of [false, true])
      itRecorded(
        `nothing is lost, whenever the power fails: processes: ${processes}, ${isLarge ? 'long' : 'short'} logs` +
          (fails ? ', syncs that fail' : ''),
        async () => {
          const points = isLarge ? POINTS / 4 : POINTS
          const { losses } = await powerFails(ADDING, {
            processes,
            points,
            fails,
            isKilled: true,
            isLarge,
          })
          expect(losses).toEqual([])
        },
        LIMIT_MS,
      )

for (const [what, mode, fails] of [
  ['does not sync its log', 'PRAGMA synchronous = NORMAL', false],
  ['ignores failed checkpoints', 'PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 20', true],
] as const)
  itRecorded(
    `a program that ${what} loses`,
    async () => {
      const { losses } = await powerFails(careless(mode), { processes: 1, points: 2_000, fails })
      expect(losses).not.toEqual([])
    },
    LIMIT_MS,
  )
