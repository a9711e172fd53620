import { rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Arrival } from '../../src/inbox/engine.js'
import { Checkpoints } from '../../src/inbox/sqlite/checkpoints.js'
import { Connection } from '../../src/inbox/sqlite/connection.js'
import type { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { startProgram, untilPrinted } from '../support/built-program.js'
import { collectedLog } from '../support/collected-log.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { inboxFile, inboxOn, openAside } from '../support/sqlite-file.js'
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

const { get: realGet } = Connection.prototype
const { complete } = Checkpoints.prototype
/** The kinds of the checkpoints that followed commits, in their order. */
let checkpoints: string[] = []
let besideCheckpoint = () => {}
beforeEach(() => {
  checkpoints = []
  // Each second.
  let isLook = false
  jest.spyOn(Checkpoints.prototype, 'complete').mockImplementation(function (this: Checkpoints) {
    isLook = true
    try {
      complete.call(this)
    } finally {
      isLook = false
    }
  })
  besideCheckpoint = () => {}
  jest.spyOn(Connection.prototype, 'get').mockImplementation(function (this: Connection, sql, ...values) {
    const [, kind] = /wal_checkpoint\((FULL)\)/.exec(sql) ?? []
    if (kind !== undefined && !isLook) checkpoints.push(kind)
    const row = realGet.call(this, sql, ...values)
    if (kind !== undefined) besideCheckpoint()
    return row
  })
})
afterEach(() => jest.restoreAllMocks())

/** Each takes about 400 pages of the log. */
async function add(inbox: SqliteInbox, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await inbox.add(largeArrival())
}

const framesIn = (file: string) => Math.floor(statSync(`${file}-wal`).size / FRAME_BYTES)

it('the log begins anew again and again', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file)
  await add(inbox, 9)
  expect(checkpoints).toEqual([])
  await add(inbox, 21)
  expect(checkpoints).toEqual(['FULL', 'FULL'])
  expect(framesIn(file)).toBeLessThan(6_000)
  expect((await inbox.stats()).counts.stored).toBe(30)
})

it('the log begins anew also while two inboxes write', async () => {
  const file = inboxFile()
  const [one, other] = [inboxOn(file), inboxOn(file)]
  await Promise.all([add(one, 40), add(other, 40)])
  expect(framesIn(file)).toBeLessThan(20_000)
  const database = await openAside(file)
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(database.prepare('SELECT count(*) AS count FROM entries').get()).toEqual({ count: 80 })
  database.close()
})

const ADDING = `
  const inbox = new SqliteInbox({ file, logger: false })
  for (let i = 0; i < 1_500; i++) await inbox.add(arrival({ body: ${JSON.stringify('x'.repeat(60_000))} }))
  print('added')
  await once(process.stdin.resume(), 'end')
`

it('the log begins anew also while two processes write all the time', async () => {
  const file = inboxFile()
  const program = buildInboxProgram(dirname(file), ADDING)
  const programs = [1, 2].map(() => startProgram(process.execPath, [program, file]))
  try {
    await untilPrinted(programs, () => programs.every(({ lines }) => lines.includes('added')))
    expect(framesIn(file)).toBeLessThan(20_000)
  } finally {
    for (const { child } of programs) child.stdin.end()
    await Promise.all(programs.map(({ ended }) => ended))
  }
}, 60_000)

it('nobody who has the inbox open writes beside a checkpoint', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file)
  await inbox.stats()
  const beside = await openAside(`${file}-gate`)
  let refusal: unknown
  besideCheckpoint = () => {
    try {
      beside.exec('BEGIN IMMEDIATE')
    } catch (error) {
      refusal = error
    }
  }
  await add(inbox, 12)
  expect(refusal).toMatchObject({ errcode: 5 })
  beside.close()
})

it('a reader that keeps the log from being copied does not cause a copy at each commit, and all is copied after it', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file, { logger: false })
  await add(inbox, 5)
  const reader = await openAside(file)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM entries').get()
  await add(inbox, 10)
  expect(checkpoints).toHaveLength(1)
  await add(inbox, 3)
  expect(checkpoints).toHaveLength(1)
  await add(inbox, 10)
  expect(checkpoints).toHaveLength(2)
  reader.exec('ROLLBACK')
  reader.close()
  // Nothing is asked of the inbox meanwhile.
  const beside = await openAside(file)
  const left = () =>
    beside.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number; checkpointed: number }
  await until(() => left().log === left().checkpointed)
  beside.close()
})

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
