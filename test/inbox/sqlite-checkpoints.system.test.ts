import { execFile } from 'node:child_process'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import threads from 'node:worker_threads'
import type { Arrival } from '../../src/inbox/engine.js'
import type { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { inboxFile, inboxOn, openAside, temporaryDirectory } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

/** A page and what the log holds beside it. */
const FRAME_BYTES = 4_096 + 24
const LARGE = arrival({ body: JSON.stringify('x'.repeat(1_600_000)) })

/** Its body is hashed once for all tests, which takes longer than to store it. */
function largeArrival(): Arrival {
  const { callback, key, signature } = arrival()
  const { idempotencyKey } = callback
  return { ...LARGE, callback: { ...LARGE.callback, idempotencyKey }, key, signature }
}

const RealWorker = threads.Worker
const started: threads.Worker[] = []
let requests = 0
let answers = 0
let copies = 0
beforeEach(() => {
  jest.spyOn(threads, 'Worker').mockImplementation((...given) => {
    const worker = new RealWorker(...given)
    started.push(worker)
    const post = worker.postMessage.bind(worker)
    worker.postMessage = (...message) => {
      requests++
      post(...message)
    }
    worker.on('message', (failure) => {
      answers++
      if (failure === undefined) copies++
    })
    return worker
  })
})
afterEach(() => {
  started.length = 0
  requests = answers = copies = 0
  jest.restoreAllMocks()
})

/** Each takes about 400 pages of the log. What the thread was asked for is done before the next one. */
async function add(inbox: SqliteInbox, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await inbox.add(largeArrival())
    await until(() => answers === requests || started.every(({ threadId }) => threadId === -1))
  }
}

const framesIn = (file: string) => Math.floor(statSync(`${file}-wal`).size / FRAME_BYTES)

it('the log begins anew again and again, by a thread that is started when it is long for the first time', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file)
  await add(inbox, 9)
  expect(started).toHaveLength(0)
  await add(inbox, 21)
  expect(started).toHaveLength(1)
  expect(framesIn(file)).toBeLessThan(8_000)
  expect((await inbox.stats()).counts.stored).toBe(30)
  await inbox.close()
  expect(started[0]!.threadId).toBe(-1)
})

it('the log begins anew also while two processes write', async () => {
  const file = inboxFile()
  const [one, other] = [inboxOn(file), inboxOn(file)]
  await Promise.all([add(one, 40), add(other, 40)])
  expect(framesIn(file)).toBeLessThan(20_000)
  const database = await openAside(file)
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(database.prepare('SELECT count(*) AS count FROM entries').get()).toEqual({ count: 80 })
  database.close()
})

it('a reader that keeps the log from beginning anew does not cause a copy at each commit', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file, { logger: false })
  await add(inbox, 5)
  const reader = await openAside(file)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM entries').get()
  await add(inbox, 10)
  expect(copies).toBe(1)
  await add(inbox, 3)
  expect(copies).toBe(1)
  await add(inbox, 10)
  expect(copies).toBe(2)
  reader.exec('ROLLBACK')
  reader.close()
})

it.each([
  [
    'there can be no threads',
    () =>
      jest.spyOn(threads, 'Worker').mockImplementation(() => {
        throw new Error('Access to this API has been restricted')
      }),
    async () => {},
  ],
  ['the thread has ended', () => {}, async () => void (await started[0]!.terminate())],
])('SQLite copies the log in a commit where %s', async (_what, before, meanwhile) => {
  before()
  const file = inboxFile()
  const inbox = inboxOn(file)
  await add(inbox, 15)
  await meanwhile()
  const framesThen = framesIn(file)
  await add(inbox, 15)
  expect(framesIn(file)).toBeLessThan(Math.max(framesThen, 1_000) + 2_000)
  expect((await inbox.stats()).counts.stored).toBe(30)
})

/** As if a checkpoint of the thread ended so. */
const endCheckpoint = (failure: object) => void started[0]!.emit('message', failure)

it.each([
  ['a sync', { errcode: 1034 }, 'ERR_INBOX_IO'],
  ['a write, as the disk is full,', { errcode: 13 }, 'ERR_INBOX_FULL'],
])(
  'if %s fails in the thread, it is logged, and nothing is stored before the log was emptied',
  async (_what, failure, code) => {
    const file = inboxFile()
    const log = collectedLog()
    const inbox = inboxOn(file, { logger: log })
    await add(inbox, 12)
    const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
    jest
      .spyOn(started[0]!, 'postMessage')
      .mockImplementation(() => endCheckpoint({ message: 'failed', ...failure }))
    await Promise.all(Array.from({ length: 12 }, () => inbox.add(largeArrival())))
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code })
    expect(log.withCode(code)).toHaveLength(1)
    expect(statSync(`${file}-doubt`).size).toBe(1)
    now.mockReturnValue(performance.now() + 2_000)
    expect((await inbox.add(arrival())).result).toBe('stored')
    expect(statSync(`${file}-doubt`).size).toBe(0)
    expect(framesIn(file)).toBeLessThan(100)
    expect((await inbox.stats()).counts.stored).toBe(25)
  },
)

it('a file that was deleted is made anew after its log has been copied', async () => {
  const file = inboxFile()
  const log = collectedLog()
  const inbox = inboxOn(file, { logger: log })
  for (let round = 1; round <= 2; round++) {
    await add(inbox, 12)
    expect((await inbox.stats()).counts.stored).toBe(12)
    for (const each of [file, `${file}-wal`, `${file}-shm`]) rmSync(each)
  }
  await add(inbox, 1)
  expect((await inbox.stats()).counts.stored).toBe(1)
  expect(log.withCode('ERR_INBOX_REPLACED')).toHaveLength(2)
})

it('the thread finds SQLite in the built package', async () => {
  const built = join(__dirname, '../../dist/sqlite.js')
  const directory = temporaryDirectory()
  const program = join(directory, 'program.mjs')
  writeFileSync(
    program,
    `
    import threads from 'node:worker_threads'
    import { syncBuiltinESMExports } from 'node:module'
    let answers = 0
let copies = 0
    threads.Worker = class extends threads.Worker {
      constructor(...given) {
        super(...given)
        this.on('message', (failure) => (copies += failure === undefined ? 1 : NaN))
      }
    }
    syncBuiltinESMExports()
    const { SqliteInbox } = await import(${JSON.stringify(pathToFileURL(built).href)})
    const inbox = new SqliteInbox({ file: 'callbacks.db' })
    for (const each of JSON.parse(process.argv[2])) {
      const rawBody = Buffer.alloc(1_600_000, 'x')
      const at = new Date()
      await inbox[Symbol.for('countersign.engine')].add({ ...each, callback: { ...each.callback, rawBody, signedAt: at, receivedAt: at } })
    }
    await inbox.close()
    console.log(JSON.stringify(copies > 0))
    `,
  )
  const arrivals = JSON.stringify(Array.from({ length: 15 }, () => arrival()))
  const { stdout } = await promisify(execFile)(process.execPath, [program, arrivals], { cwd: directory })
  expect(stdout).toBe('true\n')
})
