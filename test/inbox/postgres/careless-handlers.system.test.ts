import pg from 'pg'
import type { ClaimedEntry } from '../../../src/inbox/engine.js'
import type { PostgresTransaction } from '../../../src/postgres.js'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const LIMIT = { timeoutMs: 3_000 }
const BUSY = { busyTimeoutMs: 1_000 }

describeWithDatabase('a transactional handler that is careless', (database) => {
  let schema: string
  let pool: pg.Pool
  let inbox: PostgresInbox
  beforeEach(async () => {
    schema = database.newSchema()
    await database.query(
      'CREATE TABLE IF NOT EXISTS ledger (entry text UNIQUE DEFERRABLE INITIALLY DEFERRED)',
    )
    await database.query('TRUNCATE ledger')
    pool = new pg.Pool({ connectionString: database.connectionString, max: 5 })
    // `pool.end()` resolves before the connections are closed, and the server may end them first.
    pool.on('error', () => {})
    inbox = database.inboxOn(schema, { connectionString: undefined, pool, ...BUSY })
  })
  afterEach(async () => {
    await inbox.close()
    await pool.end()
  })

  const claimed = async (): Promise<ClaimedEntry> => {
    await inbox.add(arrival())
    const { entries } = await inbox.claim(ANY)
    await inbox.begin(entries, 60_000)
    return entries[0]!
  }
  const handle = (claim: ClaimedEntry, work: (transaction: PostgresTransaction) => Promise<unknown>) =>
    inbox.transact(claim, LIMIT, async (transaction) => {
      await transaction.query('INSERT INTO ledger VALUES ($1)', [claim.id])
      await work(transaction)
      return { move: 'complete' }
    })
  const rows = async () => (await database.query('SELECT entry FROM ledger')).rows.map(({ entry }) => entry)

  it.each([
    ['leaves a cursor open', 'DECLARE c CURSOR FOR SELECT generate_series(1, 100000); FETCH 5 FROM c'],
    ['leaves a savepoint open', 'SAVEPOINT mine'],
    ['hides the tables of the inbox', 'CREATE TEMP TABLE entries (id bigint) ON COMMIT DROP'],
    ['changes the search path', "SET LOCAL search_path = 'pg_catalog'"],
    ['sets a time limit of its own', 'SET LOCAL lock_timeout = 1; SET LOCAL statement_timeout = 0'],
    ['turns synchronous commits off', 'SET LOCAL synchronous_commit = off'],
  ])('and %s, is committed once', async (_, sql) => {
    const claim = await claimed()
    expect(await handle(claim, (transaction) => transaction.query(sql))).toBe('committed')
    expect(await rows()).toEqual([claim.id])
    expect(await inbox.show(claim.id)).toMatchObject({ state: 'handled' })
  })

  it('and does not await its last query, is committed with it', async () => {
    const claim = await claimed()
    await handle(claim, async (transaction) => {
      void transaction.query("INSERT INTO ledger SELECT 'late' FROM pg_sleep(0.1)")
    })
    expect(await rows()).toEqual([claim.id, 'late'])
  })

  it.each([
    ['may not write any more', 'SET TRANSACTION READ ONLY'],
    ['is another role', 'SET LOCAL ROLE nobody_at_all'],
    ['has broken a constraint that is checked at COMMIT', "INSERT INTO ledger VALUES ('twice'), ('twice')"],
    ['has ended its own session', 'SELECT pg_terminate_backend(pg_backend_pid())'],
  ])('and %s, commits nothing, and the next one is handled', async (_, sql) => {
    await database.query(
      'DO $$ BEGIN CREATE ROLE nobody_at_all; EXCEPTION WHEN duplicate_object THEN NULL; END $$',
    )
    const claim = await claimed()
    await expect(handle(claim, (transaction) => transaction.query(sql))).rejects.toThrow()
    expect(await rows()).toEqual([])
    expect(await inbox.show(claim.id)).toMatchObject({ state: 'running' })
    expect(await handle(claim, async () => {})).toBe('committed')
    expect(await rows()).toEqual([claim.id])
  })

  it('and whose application takes every connection of the pool, rejects in time, and leases are renewed', async () => {
    const claim = await claimed()
    const taken = await Promise.all(Array.from({ length: 4 }, () => pool.connect()))
    const pass = fakeTimeouts()
    const busy = { code: 'ERR_INBOX_BUSY' }
    const refused = Promise.all(
      [handle(claim, async () => {}), inbox.add(arrival())].map((each) =>
        expect(each).rejects.toMatchObject(busy),
      ),
    )
    await pass(2 * BUSY.busyTimeoutMs)
    await refused
    jest.useRealTimers()
    expect((await inbox.extend([claim], 60_000)).size).toBe(1)
    for (const client of taken) client.release()
    expect(await handle(claim, async () => {})).toBe('committed')
  })
})
