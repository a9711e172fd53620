import { arrival } from '../../support/arrivals.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { roleWithSettings } from '../../support/postgres-role.js'
import { nextLook } from '../../support/until.js'

/** Passes by fake timeouts in the tests. Opening a connection may take seconds on a busy machine. */
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
  afterEach(() => setStandbys(''))

  it('makes its schema, and does not wait for the standby', async () => {
    const schema = database.newSchema()
    const { waiting } = await removeStandby(schema)
    await database.inboxOn(schema).open()
    await setStandbys('')
    await waiting
  })

  it('does not report as stored a callback whose wait for the standby somebody has cancelled', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, { busyTimeoutMs: 60_000 })
    await inbox.open()
    const { waiting } = await removeStandby(schema)
    const given = arrival()
    const refused = expect(inbox.add(given)).rejects.toMatchObject({ code: 'ERR_INBOX_BUSY' })
    await waitFor(2)
    await database.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%store_new%'`,
    )
    await refused
    await setStandbys('')
    await waiting
    expect((await inbox.add(given)).result).toBe('duplicate')
  })

  it.each([
    ['the statement that is a commit as well', {}, []],
    ['COMMIT', { orderKey: 'account 1' }, []],
    ['a session without warnings', {}, ['client_min_messages = error']],
  ])('does not report as stored what no standby has: %s', async (_what, own, settings) => {
    const schema = database.newSchema()
    const connectionString = await roleWithSettings(database, settings)
    const inbox = database.inboxOn(schema, { connectionString, busyTimeoutMs: BUSY_TIMEOUT_MS })
    await inbox.open()
    const { waiting } = await removeStandby(schema)
    const pass = fakeTimeouts()
    const given = arrival(own)
    const refused = expect(inbox.add(given)).rejects.toMatchObject({
      code: 'ERR_INBOX_BUSY',
      message: expect.stringContaining('confirmed'),
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
