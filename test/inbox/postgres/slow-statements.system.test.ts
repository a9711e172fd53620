import pg from 'pg'
import { arrival } from '../../support/arrivals.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { nextLook } from '../../support/until.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
/** Passes by fake timeouts in the tests. Opening a connection may take seconds on a busy machine. */
const BUSY_TIMEOUT_MS = 5_000
const BUSY = { code: 'ERR_INBOX_BUSY' }

/** Whoever writes an entry sleeps for longer than the tests take. */
const slowWrites = (schema: string) =>
  `CREATE FUNCTION ${schema}.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
  CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON ${schema}.due FOR EACH ROW EXECUTE FUNCTION ${schema}.slow()`

describeWithDatabase('a statement of a PostgresInbox that takes too long is cancelled', (database) => {
  const sleeping = async (count: number) => {
    const sleeps = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    for (let looks = 0; (await database.query(sleeps)).rowCount !== count; looks++) await nextLook(looks)
  }

  /** The inbox has one connection for leases, and three more. One entry waits in it. */
  const slowInbox = async () => {
    const schema = database.newSchema()
    const pool = new pg.Pool({ connectionString: database.connectionString, max: 4 })
    // pool.end() does not wait until the sessions have ended, and the server may be stopped before.
    pool.on('error', () => {})
    const options = { pool, connectionString: undefined, busyTimeoutMs: BUSY_TIMEOUT_MS }
    const inbox = database.inboxOn(schema, options)
    await inbox.open()
    await inbox.add(arrival())
    await database.query(slowWrites(schema))
    const recovered = async () => {
      jest.useRealTimers()
      await database.query(`DROP TRIGGER slow ON ${schema}.due`)
      expect((await inbox.add(arrival())).result).toBe('stored')
      expect((await inbox.claim(ANY)).entries).toHaveLength(2)
      await inbox.close()
      await pool.end()
    }
    return { inbox, pool, recovered }
  }

  it.each([
    ['where connections are free', 0],
    ['while every other connection of the pool is in use', 2],
  ])('%s', async (_when, others) => {
    const { inbox, pool, recovered } = await slowInbox()
    const taken = await Promise.all(Array.from({ length: others }, () => pool.connect()))
    const pass = fakeTimeouts()
    const refused = expect(inbox.add(arrival())).rejects.toMatchObject(BUSY)
    await sleeping(1)
    await pass(2 * BUSY_TIMEOUT_MS)
    await refused
    for (const client of taken) client.release()
    await recovered()
  })

  it('while the connection for leases is in use', async () => {
    const { inbox, recovered } = await slowInbox()
    const pass = fakeTimeouts()
    const refused = expect(inbox.add(arrival())).rejects.toMatchObject(BUSY)
    await sleeping(1)
    await pass(BUSY_TIMEOUT_MS)
    const notClaimed = expect(inbox.claim(ANY)).rejects.toMatchObject(BUSY)
    await sleeping(2)
    await pass(BUSY_TIMEOUT_MS)
    await refused
    await pass(BUSY_TIMEOUT_MS)
    await notClaimed
    await recovered()
  })
})
