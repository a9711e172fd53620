import pg from 'pg'
import { arrival } from '../../support/arrivals.js'
import { collectedLog } from '../../support/collected-log.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'
import { describeWithDatabase, withFakeClock } from '../../support/postgres-inbox.js'

const LEASE_MS = 60_000
const ORDINARY = { eventTypes: 'any', limit: 10, leaseMs: LEASE_MS } as const
const INTERRUPTED = { ...ORDINARY, interrupted: true } as const
const NOTHING = { entries: [], interruptedIsDue: false }

describeWithDatabase('after the clock of the database was set ahead, a PostgresInbox', (database) => {
  it.each([INTERRUPTED, ORDINARY])(
    'gives no entry whose handlers are running before their worker could renew the lease: %j',
    async (request) => {
      const schema = database.newSchema()
      const setAhead = await withFakeClock(database, schema)
      const log = collectedLog()
      const owner = database.inboxOn(schema)
      const other = database.inboxOn(schema, { logger: log })
      const pass = fakeTimeouts()
      await owner.add(arrival())
      const { entries } = await owner.claim(ORDINARY)
      await owner.begin(entries, LEASE_MS)
      await other.claim(ORDINARY)
      await setAhead(2 * LEASE_MS)
      expect(await other.claim(request)).toMatchObject(NOTHING)
      expect(log.withCode('WARN_CLOCK_STEPPED')).toMatchObject([{ fields: { stepMs: 2 * LEASE_MS } }])
      expect(await other.claim(ORDINARY)).toMatchObject(NOTHING)
      // Nobody renews it.
      await pass(LEASE_MS)
      expect(await other.claim(ORDINARY)).toMatchObject({ entries: [], interruptedIsDue: true })
      expect((await other.claim(INTERRUPTED)).entries).toMatchObject([{ id: entries[0]!.id, attempt: 2 }])
      expect(log.withCode('WARN_CLOCK_STEPPED')).toHaveLength(1)
    },
  )

  it('gives what another process stored while the clock was ahead between two of its own calls', async () => {
    const schema = database.newSchema()
    const setAhead = await withFakeClock(database, schema)
    const [other, inbox] = [database.inboxOn(schema), database.inboxOn(schema)]
    await inbox.claim(ORDINARY)
    await setAhead(3_600_000)
    await other.add(arrival({ type: 'one' }))
    await setAhead(-3_600_000)
    expect((await inbox.claim(ORDINARY)).entries).toMatchObject([{ id: '1' }])
  })

  it('keeps a lease that another process takes while it corrects times', async () => {
    const schema = database.newSchema()
    const setAhead = await withFakeClock(database, schema)
    const other = database.inboxOn(schema)
    await other.add(arrival())
    let claiming: ReturnType<typeof other.claim> | undefined
    const pool = new pg.Pool({ connectionString: database.connectionString })
    pool.on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
      const beside = async (...args: unknown[]) => {
        if (String(args[0]).includes('AS examined')) {
          await setAhead(10)
          await (claiming ??= other.claim(ORDINARY))
        }
        return query(...args)
      }
      Object.assign(client, { query: beside })
    })
    const inbox = database.inboxOn(schema, { pool })
    await inbox.claim(ORDINARY)
    expect((await claiming!).entries).toHaveLength(1)
    const { rows } = await database.query(`SELECT due_at - ${schema}.now_ms() AS left FROM ${schema}.due`)
    expect(rows).toEqual([{ left: String(LEASE_MS) }])
    await inbox.close()
    await pool.end()
  })
})
