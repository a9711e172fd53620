import pg from 'pg'
import { arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'
import { roleWithSettings } from '../../support/postgres-role.js'
import { parsing } from '../../support/type-parser.js'
import { watchedPool } from '../../support/watched-pool.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const COMPLETE = { move: 'complete' } as const

describeWithAnyDatabase('a PostgresInbox of which', (database) => {
  it('the role has array_nulls off ends claims', async () => {
    const connectionString = await roleWithSettings(database, ['array_nulls = off'])
    const inbox = database.inboxOn(database.newSchema(), { connectionString })
    await Promise.all([inbox.add(arrival()), inbox.add(arrival())])
    const { entries } = await inbox.claim(ANY)
    const [one, other] = await inbox.begin(entries, 60_000).then(() => entries)
    const later = { move: 'reschedule', delayMs: 60_000, error: 'NULL', code: undefined } as const
    const held = await inbox.settle([
      { claim: one!, end: COMPLETE },
      { claim: other!, end: later },
    ])
    expect(held.size).toBe(2)
    expect(await inbox.show(one!.id)).toMatchObject({ state: 'handled', reason: undefined })
    expect(await inbox.show(other!.id)).toMatchObject({ state: 'retrying', reason: 'NULL' })
  })

  it('the pool returns each bigint as a number lets the next entry of an order key follow a decision', async () => {
    const { connectionString } = database
    const pool = new pg.Pool({ connectionString, ...parsing(pg.types.builtins.INT8, Number) })
    // Its connections may still be closing when the server is stopped.
    pool.on('error', () => {})
    const inbox = database.inboxOn(database.newSchema(), { pool })
    const first = await inbox.add(arrival({ orderKey: 'account 1' }))
    const second = await inbox.add(arrival({ orderKey: 'account 1' }))
    expect(await inbox.act(first.id, 'discard', 'ann')).toEqual({ done: true })
    const { entries } = await inbox.claim(ANY)
    expect(entries.map(({ id }) => id)).toEqual([second.id])
    await inbox.close()
    await pool.end()
  })

  it('the pool has a query_timeout rejects all callbacks of a batch at once, and recovers', async () => {
    const schema = database.newSchema()
    const { pool, statements } = watchedPool(database.connectionString)
    let queryTimeout = 0
    pool.on('connect', (client) =>
      Object.defineProperty(client, 'connectionParameters', {
        get: () => ({ query_timeout: queryTimeout }),
      }),
    )
    const inbox = database.inboxOn(schema, { pool })
    await inbox.add(arrival())
    const other = new pg.Client(database.connectionString)
    await other.connect()
    await other.query(`BEGIN; LOCK TABLE ${schema}.entries`)
    // Only now, because on a busy machine any query may take long.
    queryTimeout = 100
    statements.length = 0
    const results = await Promise.allSettled([arrival(), arrival(), arrival()].map((each) => inbox.add(each)))
    const refused = { reason: { code: 'ERR_INBOX_BUSY', message: expect.stringContaining('query_timeout') } }
    expect(results).toMatchObject([refused, refused, refused])
    expect(statements.filter((text) => text.includes('store_new'))).toHaveLength(1)
    queryTimeout = 0
    await other.query('ROLLBACK')
    await other.end()
    expect((await inbox.add(arrival())).result).toBe('stored')
    await inbox.close()
    await pool.end()
  })

  // Version 17 and later have the setting, which ends the session with this code.
  it('the role has a transaction_timeout says that the connection is lost', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    await database.query(
      `CREATE FUNCTION ${schema}.late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'terminating connection due to transaction timeout' USING ERRCODE = '25P04';
      END $$;
      CREATE TRIGGER late BEFORE INSERT ON ${schema}.entries FOR EACH ROW EXECUTE FUNCTION ${schema}.late()`,
    )
    await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_UNREACHABLE' })
  })
})
