import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'
import { manyEntries } from '../../support/postgres-rows.js'

const START = Date.UTC(2026, 10, 3)
const HOUR = 3_600_000
const UNFINISHED = 9_000

describeWithAnyDatabase('a PostgresInbox with many entries', (database) => {
  it('corrects the times of those that wait by several claims after the clock was set back, and by none of them all', async () => {
    const schema = database.newSchema()
    const advance = await withFakeClock(database, schema, START)
    const inbox = database.inboxOn(schema)
    await inbox.open()
    // Two hours ahead.
    const [at, type] = [String(START + 2 * HOUR), `CASE WHEN n < ${UNFINISHED} THEN 'usual' ELSE 'rare' END`]
    await database.query(manyEntries(schema, UNFINISHED, { state: "'stored'", at, type }))
    const request = { eventTypes: ['rare'], limit: 1, leaseMs: 1_000 }
    const first = await inbox.claim(request)
    expect(first).toMatchObject({ entries: [], nextDueInMs: 0 })
    expect(first.clockSetBackMs).toBeUndefined()
    // What has been corrected by then is ahead again.
    await advance(-HOUR)
    let claims = await inbox.claim(request)
    let calls = 1
    for (; claims.nextDueInMs === 0; calls++) claims = await inbox.claim(request)
    expect(calls).toBeGreaterThan(2)
    expect(claims.entries).toMatchObject([{ callback: { type: 'rare' } }])
    expect(claims.clockSetBackMs).toBe(3 * HOUR)
    const { rows } = await database.query(
      `SELECT count(*) AS late FROM ${schema}.due WHERE state = 'stored' AND due_at > ${START - HOUR}`,
    )
    expect(rows).toEqual([{ late: '0' }])
  })

  it('corrects the ends of those that ended by several claims after the clock was set back', async () => {
    const schema = database.newSchema()
    await withFakeClock(database, schema, START)
    const inbox = database.inboxOn(schema)
    await inbox.open()
    const state = "CASE n % 2 WHEN 0 THEN 'dead' ELSE 'handled' END"
    await database.query(manyEntries(schema, 5_000, { state, at: String(START + HOUR) }))
    const corrected = async () =>
      (await database.query(`SELECT FROM ${schema}.ended WHERE at = ${START}`)).rowCount
    const claim = () => inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 1_000 })
    expect(await claim()).toMatchObject({ nextDueInMs: 0 })
    // Up to a thousand in each of the two groups.
    expect(await corrected()).toBe(2_000)
    while ((await claim()).nextDueInMs === 0);
    expect(await corrected()).toBe(5_000)
  })
})
