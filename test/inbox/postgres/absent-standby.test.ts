import { arrival } from '../../support/arrivals.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { nextLook } from '../../support/until.js'

/** Passes by fake time-outs in the tests. Opening a connection may take seconds on a busy machine. */
const BUSY_TIMEOUT_MS = 5_000
const WAITING = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

describeWithDatabase('a PostgresInbox whose synchronous standby is absent', (database) => {
  it.each([
    ['the statement that is a commit as well', {}],
    ['COMMIT', { orderKey: 'account 1' }],
  ])('does not report as stored what no standby has: %s', async (_what, own) => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, { busyTimeoutMs: BUSY_TIMEOUT_MS })
    await inbox.open()
    const waitFor = async (count: number) => {
      for (let looks = 0; (await database.query(WAITING)).rowCount !== count; looks++) await nextLook(looks)
    }
    const setStandbys = async (names: string) => {
      await database.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
      await database.query('SELECT pg_reload_conf()')
    }
    await setStandbys('absent')
    // From the moment that the server knows of the setting, a commit waits.
    const waiting = database.server.query(`CREATE TABLE ${schema}.waits (); DROP TABLE ${schema}.waits`)
    await waitFor(1)
    const pass = fakeTimeouts()
    const given = arrival(own)
    const refused = expect(inbox.add(given)).rejects.toMatchObject({
      code: 'ERR_INBOX_BUSY',
      message: expect.stringContaining('was not confirmed within 10000 ms'),
    })
    await waitFor(2)
    await pass(2 * BUSY_TIMEOUT_MS)
    await refused
    // Sessions that nobody waits for would use up the connections of the server.
    await waitFor(1)
    jest.useRealTimers()
    await setStandbys('')
    await waiting
    expect((await inbox.add(given)).result).toBe('duplicate')
  })
})
