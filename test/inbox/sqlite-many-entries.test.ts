import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ActivityBucket } from '../../src/inbox/activity.js'
import type { SqliteValue } from '../../src/inbox/sqlite/driver.js'
import type { Reader } from '../../src/inbox/sqlite/read-inbox-file.js'
import { stats } from '../../src/inbox/sqlite/stats.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock } from '../support/fake-clock.js'
import { inboxFile, openAside } from '../support/sqlite-file.js'

const START = Date.UTC(2026, 10, 3)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const ENTRIES = 50_000
const UNFINISHED = 20_000
const SOURCE = `
  INSERT INTO sources (number, subscribed_type, callback_url, secret_fingerprint) VALUES (1, 'usual', 'https://a.example/', '')
  ON CONFLICT DO NOTHING`

/** Entries that arrived minute by minute. Each 25,000th is of a rare type, each tenth is dead, and the others are handled. */
async function withManyEntries(file: string): Promise<SqliteInbox> {
  const inbox = new SqliteInbox({ file })
  await inbox.open()
  const database = await openAside(file)
  database.exec(SOURCE)
  database.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ENTRIES})
    INSERT INTO entries (id, state, known, event_type, idempotency_key, key_hash, body_hash, signature, ready, signed_at,
      received_at, finished_at, source, body)
    SELECT n, iif(n % 10 = 0, 'dead', 'handled'), 1, iif(n % 25000 = 0, 'rare', 'usual'), n || '', randomblob(16), x'00',
      randomblob(16), 0, n, ${START} + n * ${MINUTE}, ${START} + n * ${MINUTE}, 1, x'7b7d'
    FROM numbers`)
  database.close()
  return inbox
}

describe('SqliteInbox with many entries', () => {
  let inbox: SqliteInbox
  const directory = mkdtempSync(join(tmpdir(), 'countersign-'))
  beforeAll(async () => {
    inbox = await withManyEntries(join(directory, 'callbacks.db'))
  })
  afterAll(async () => {
    await inbox.close()
    rmSync(directory, { recursive: true })
  })

  it('examines a bounded number of them at a time, and goes on from there', async () => {
    const first = await inbox.list({ eventType: 'rare' }, { limit: 10 })
    expect(first).toEqual({ entries: [], next: '20000' })
    const second = await inbox.list({ eventType: 'rare' }, { limit: 10, afterId: first.next })
    expect(second).toMatchObject({ entries: [{ id: '25000' }], next: '40000' })
    const third = await inbox.list({ eventType: 'rare' }, { limit: 10, afterId: second.next })
    expect(third.entries).toMatchObject([{ id: '50000' }])
    expect(third.next).toBeUndefined()
    expect(await inbox.count({ eventType: 'rare' }, 10)).toEqual({ count: 0, more: true })
    expect(await inbox.count({ states: ['dead'] }, 5_000)).toEqual({ count: 5_000, more: false })
    expect(await inbox.count({ states: ['dead'] }, 4_999)).toEqual({ count: 4_999, more: true })
  })

  it('begins a search where the time range begins', async () => {
    const before = START + 10 * MINUTE
    const found = await inbox.list({ before }, { newestFirst: true, limit: 3 })
    expect(found.entries.map(({ id }) => id)).toEqual(['9', '8', '7'])
    const after = START + (ENTRIES - 3) * MINUTE
    const rare = await inbox.list({ after, eventType: 'rare' })
    expect(rare).toMatchObject({ entries: [{ id: '50000' }] })
    expect(rare.next).toBeUndefined()
  })

  it('finds what arrived less than an hour out of order', async () => {
    const file = inboxFile()
    const own = new SqliteInbox({ file })
    await own.open()
    // The second one was stored by a receiver whose clock is 50 minutes behind.
    const times = [0, -50, 1, 200].map((minutes) => new Date(START + minutes * MINUTE))
    for (const receivedAt of times) await own.add(arrival({ receivedAt, signedAt: receivedAt }))
    const idsOf = async (filter: object) => (await own.list(filter)).entries.map(({ id }) => id)
    expect(await idsOf({ before: START })).toEqual(['2'])
    expect(await idsOf({ after: START - 51 * MINUTE, before: START - 49 * MINUTE })).toEqual(['2'])
    expect(await idsOf({ after: START })).toEqual(['3', '4'])
    await own.close()
  })

  it('counts them by state and by time, all of them', async () => {
    expect(await inbox.stats()).toMatchObject({ counts: { handled: 45_000, dead: 5_000, stored: 0 } })
    const [bucket] = await inbox.activity({
      from: START,
      to: START + (ENTRIES + 1) * MINUTE,
      bucketMs: (ENTRIES + 1) * MINUTE,
    })
    expect(bucket).toMatchObject({ handled: 45_000, dead: 5_000 })
  })

  it('lets other work run between the steps of a long list', async () => {
    let turns = 0
    const count = () => {
      turns++
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    await inbox.list({ eventType: 'none' })
    clearImmediate(counting)
    expect(turns).toBeGreaterThanOrEqual(9)
  })
})

describe('SqliteInbox with many unfinished entries', () => {
  it.each([
    ['no worker has a handler for', 'other', { stored: 1, unhandled: UNFINISHED }],
    ['wait', 'usual', { stored: UNFINISHED + 1, unhandled: 0 }],
  ])('counts those that %s in bounded steps, and finds the oldest of the others', async (_, type, counts) => {
    const file = inboxFile()
    const own = new SqliteInbox({ file })
    await own.open()
    await own.claim({ eventTypes: ['usual'], limit: 1, leaseMs: 1_000 })
    const database = await openAside(file)
    database.exec(SOURCE)
    database.exec(`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n <= ${UNFINISHED})
      INSERT INTO entries (state, known, event_type, idempotency_key, key_hash, body_hash, signature, due_at, ready, signed_at,
        received_at, source, body)
      SELECT 'stored', 1, iif(n > ${UNFINISHED}, 'usual', '${type}'), n || '', randomblob(16), x'00', randomblob(16), n, 1, n, n, 1, x'7b7d'
      FROM numbers`)
    const examined: number[] = []
    const db: Reader = {
      get: <Row>(sql: string, ...values: SqliteValue[]) => {
        const row = database.prepare(sql).get(...values) as (Row & { examined?: number }) | undefined
        if (row?.examined !== undefined) examined.push(row.examined)
        return row
      },
      all: <Row>(sql: string, ...values: SqliteValue[]) => database.prepare(sql).all(...values) as Row[],
    }
    const counted = await stats(async (step) => step(db))
    database.close()
    await own.close()
    expect(counted.counts).toMatchObject(counts)
    expect(counted.oldestUnfinishedAt).toEqual(new Date(type === 'usual' ? 1 : UNFINISHED + 1))
    expect(examined.reduce((sum, each) => sum + each)).toBe(UNFINISHED + 1)
    expect(Math.max(...examined)).toBeLessThanOrEqual(5_000)
  })

  it('corrects their times by several claims after the clock was set back, and by none of them all', async () => {
    const file = inboxFile()
    const clock = fakeClock(START)
    const own = new SqliteInbox({ file, clock })
    await own.open()
    const database = await openAside(file)
    // Two hours ahead.
    database.exec(SOURCE)
    database.exec(`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${UNFINISHED + 1})
      INSERT INTO entries (state, known, event_type, idempotency_key, key_hash, body_hash, signature, due_at, due_set_at, ready,
        signed_at, received_at, source, body)
      SELECT 'stored', 1, iif(n <= ${UNFINISHED}, 'usual', 'rare'), n || '', randomblob(16), x'00', randomblob(16),
        ${START} + ${2 * HOUR}, ${START} + ${2 * HOUR}, 1, n, n, 1, x'7b7d'
      FROM numbers`)
    database.close()
    const request = { eventTypes: ['rare'], limit: 1, leaseMs: 1_000 }
    expect(await own.claim(request)).toMatchObject({ entries: [], nextDueInMs: 0, clockSetBackMs: undefined })
    // What has been corrected by then is ahead again.
    clock.advance(-HOUR)
    let claims = await own.claim(request)
    let calls = 1
    for (; claims.nextDueInMs === 0; calls++) claims = await own.claim(request)
    expect(calls).toBeGreaterThan(3)
    expect(claims).toMatchObject({ entries: [{ id: String(UNFINISHED + 1) }], clockSetBackMs: 3 * HOUR })
    const others = await own.claim({ ...request, eventTypes: ['usual'], limit: 2 * UNFINISHED })
    expect(others.entries).toHaveLength(UNFINISHED)
    expect(others.clockSetBackMs).toBeUndefined()
    await own.close()
  })
})

it('many ends in a SqliteInbox are corrected by several claims after the clock was set back', async () => {
  const file = inboxFile()
  const own = new SqliteInbox({ file, clock: () => START })
  await own.open()
  const database = await openAside(file)
  database.exec(SOURCE)
  database.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)
    INSERT INTO entries (state, known, event_type, idempotency_key, key_hash, body_hash, signature, ready, signed_at, received_at,
      finished_at, source, body)
    SELECT iif(n % 2 = 0, 'dead', 'handled'), 1, 'usual', n || '', randomblob(16), x'00', randomblob(16), 0, n, n,
      ${START + HOUR}, 1, x'7b7d'
    FROM numbers`)
  database.close()
  const endedBy = async (to: number) => {
    const [{ handled, dead }] = (await own.activity({ from: START, to, bucketMs: HOUR })) as [ActivityBucket]
    return handled + dead
  }
  const claim = () => own.claim({ eventTypes: 'any', limit: 1, leaseMs: 1_000 })
  expect(await claim()).toMatchObject({ nextDueInMs: 0 })
  expect(await endedBy(START + 1)).toBe(1_000)
  while ((await claim()).nextDueInMs === 0);
  expect(await endedBy(START + 1)).toBe(2_500)
  await own.close()
})
