import pg from 'pg'
import { arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'
import { nextLook } from '../../support/until.js'

describeWithAnyDatabase('the first claim of a process', (database) => {
  it('does not report that the clock was set back, if a callback arrives while the claim waits', async () => {
    const schema = database.newSchema()
    const advance = await withFakeClock(database, schema)
    // Longer than the test: the claim does not give up the lock.
    const inbox = database.inboxOn(schema, { busyTimeoutMs: 60_000 })
    await inbox.open()
    const other = new pg.Client({ connectionString: database.connectionString })
    await other.connect()
    await other.query(`BEGIN; LOCK TABLE ${schema}.handled_types IN EXCLUSIVE MODE`)
    const claiming = inbox.claim({ eventTypes: 'any', limit: 10, leaseMs: 60_000 })
    const waits = `SELECT 1 FROM pg_locks WHERE relation = '${schema}.handled_types'::regclass AND NOT granted`
    for (let looks = 0; (await database.query(waits)).rowCount === 0; looks++) await nextLook(looks)
    await advance(5_000)
    expect((await inbox.add(arrival())).result).toBe('stored')
    await other.query('ROLLBACK')
    expect((await claiming).clockSetBackMs).toBeUndefined()
    await other.end()
  })
})
