import { arrival } from '../../support/arrivals.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { nextLook } from '../../support/until.js'

/** Passes by fake time-outs in the tests. Opening a connection may take seconds on a busy machine. */
const BUSY_TIMEOUT_MS = 5_000
/** Autovacuum may wait as well. */
const WAITING =
  "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'"

describeWithDatabase('a PostgresInbox whose synchronous standby is absent', (database) => {
  const waitFor = async (count: number) => {
    for (let looks = 0; (await database.query(WAITING)).rowCount !== count; looks++) await nextLook(looks)
  }
  const setStandbys = async (names: string) => {
    await database.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await database.query('SELECT pg_reload_conf()')
  }
  /** Resolves once a commit waits: the server takes up a setting some time after it was told to. `waiting` is that commit. */
  const removeStandby = async (schema: string) => {
    await setStandbys('absent')
    for (;;) {
      const state = { hasEnded: false }
      const commit = database.server.query(`CREATE SCHEMA ${schema}_waits; DROP SCHEMA ${schema}_waits`)
      const waiting = commit.then(() => (state.hasEnded = true))
      for (let looks = 0; !state.hasEnded; looks++) {
        if ((await database.query(WAITING)).rowCount === 1) return { waiting }
        await nextLook(looks)
      }
    }
  }

  it('makes its schema, and does not wait for the standby', async () => {
    const schema = database.newSchema()
    const { waiting } = await removeStandby(schema)
    await database.inboxOn(schema).open()
    await setStandbys('')
    await waiting
  })

  it.each([
    ['the statement that is a commit as well', {}],
    ['COMMIT', { orderKey: 'account 1' }],
  ])('does not report as stored what no standby has: %s', async (_what, own) => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, { busyTimeoutMs: BUSY_TIMEOUT_MS })
    await inbox.open()
    const { waiting } = await removeStandby(schema)
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
