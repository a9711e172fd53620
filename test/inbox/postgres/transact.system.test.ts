import pg from 'pg'
import { drizzle } from 'drizzle-orm/node-postgres'
import { sql } from 'drizzle-orm'
import knex from 'knex'
import type { ClaimedEntry } from '../../../src/inbox/engine.js'
import type { PostgresTransaction } from '../../../src/postgres.js'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { deferred } from '../../support/deferred.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { TcpProxy } from '../../support/tcp-proxy.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const LIMIT = { timeoutMs: 5_000 }
const COMPLETE = { move: 'complete' } as const

describeWithDatabase('a transactional handler', (database) => {
  let schema: string
  beforeEach(async () => {
    schema = database.newSchema()
    await database.query(`CREATE TABLE IF NOT EXISTS ledger (entry text)`)
    await database.query('TRUNCATE ledger')
  })

  const claimed = async (options = {}): Promise<{ inbox: PostgresInbox; claim: ClaimedEntry }> => {
    const inbox = database.inboxOn(schema, options)
    await inbox.add(arrival({ orderKey: 'account 1' }))
    const { entries } = await inbox.claim(ANY)
    await inbox.begin(entries, 60_000)
    return { inbox, claim: entries[0]! }
  }
  const ledger = async () => (await database.query('SELECT entry FROM ledger')).rows.map(({ entry }) => entry)
  const write = (transaction: PostgresTransaction, entry: string) =>
    transaction.query('INSERT INTO ledger VALUES ($1)', [entry])

  it('commits its writes together with the end of the entry', async () => {
    const { inbox, claim } = await claimed()
    const next = await inbox.add(arrival({ orderKey: 'account 1' }))
    const result = await inbox.transact(claim, LIMIT, async (transaction) => {
      await write(transaction, claim.id)
      expect((await inbox.extend([claim], 60_000)).size).toBe(1)
      return COMPLETE
    })
    expect(result).toBe('committed')
    expect(await ledger()).toEqual([claim.id])
    expect(await inbox.show(claim.id)).toMatchObject({ state: 'handled' })
    expect((await inbox.claim(ANY)).entries.map(({ id }) => id)).toEqual([next.id])
  })

  it('commits nothing when the claim was lost', async () => {
    const { inbox, claim } = await claimed()
    const late = { ...claim, token: claim.token - 1 }
    expect(
      await inbox.transact(late, LIMIT, async (transaction) => {
        await write(transaction, 'late')
        return COMPLETE
      }),
    ).toBe('lost')
    expect(await ledger()).toEqual([])
    expect(await inbox.show(claim.id)).toMatchObject({ state: 'running' })
  })

  it('commits nothing of its own with an end that is not complete', async () => {
    const { inbox, claim } = await claimed()
    const end = { move: 'deadLetter', error: 'account is closed' } as const
    const work = async (transaction: PostgresTransaction) => {
      await write(transaction, claim.id)
      return end
    }
    expect(await inbox.transact(claim, LIMIT, work)).toBe('committed')
    expect(await inbox.transact(claim, LIMIT, work)).toBe('lost')
    expect(await ledger()).toEqual([])
    expect(await inbox.show(claim.id)).toMatchObject({ state: 'dead', reason: 'account is closed' })
  })

  it('commits nothing when it throws, and when it ignores the error of a query', async () => {
    const { inbox, claim } = await claimed()
    const thrown = new Error('the handler failed')
    await expect(
      inbox.transact(claim, LIMIT, async (transaction) => {
        await write(transaction, claim.id)
        throw thrown
      }),
    ).rejects.toBe(thrown)
    await expect(
      inbox.transact(claim, LIMIT, async (transaction) => {
        await write(transaction, claim.id)
        await transaction.query('SELECT 1 / 0').catch(() => {})
        return COMPLETE
      }),
    ).rejects.toMatchObject({ message: expect.stringContaining('current transaction is aborted') })
    expect(await ledger()).toEqual([])
    expect(await inbox.show(claim.id)).toMatchObject({ state: 'running' })
  })

  it('commits nothing when it takes too long, whatever it does afterwards', async () => {
    const { inbox, claim } = await claimed()
    const pass = fakeTimeouts()
    let finish = () => {}
    let late: Promise<unknown> | undefined
    const written = deferred()
    const working = inbox.transact(claim, LIMIT, async (transaction) => {
      await write(transaction, claim.id)
      const finished = new Promise<void>((resolve) => (finish = resolve))
      written.resolve()
      await finished
      late = write(transaction, 'late')
      await late
      return COMPLETE
    })
    const refused = expect(working).rejects.toMatchObject({ code: 'ERR_HANDLER_TIMEOUT' })
    await written.promise
    await pass(LIMIT.timeoutMs)
    await refused
    finish()
    await new Promise(setImmediate)
    await expect(late).rejects.toThrow()
    expect(await ledger()).toEqual([])
    expect(await inbox.show(claim.id)).toMatchObject({ state: 'running' })
  })

  it.each(['takes too long', 'throws'])(
    'holds no locks once it %s, although a query of it was running',
    async (why) => {
      const { inbox, claim } = await claimed()
      const working = inbox.transact(
        claim,
        { timeoutMs: why === 'throws' ? 60_000 : 500 },
        async (transaction) => {
          await transaction.query('LOCK TABLE ledger')
          const sleeping = transaction.query('SELECT pg_sleep(60)')
          sleeping.catch(() => {})
          if (why === 'throws') throw new Error('the handler failed')
          await sleeping
          return COMPLETE
        },
      )
      await expect(working).rejects.toThrow()
      await database.query("BEGIN; SET LOCAL lock_timeout = '5s'; LOCK TABLE ledger; COMMIT")
    },
  )

  it('makes the server notice that its process is gone', async () => {
    const { inbox, claim } = await claimed()
    await inbox.transact(claim, LIMIT, async (transaction) => {
      const { rows } = await transaction.query(
        "SELECT current_setting('client_connection_check_interval', true) AS interval, " +
          "current_setting('server_version_num')::integer AS version",
      )
      // PostgreSQL 13 does not have the setting.
      expect(rows[0].interval).toBe(rows[0].version < 140_000 ? null : '1s')
      return COMPLETE
    })
  })

  it('leaves its connection in the pool when it throws', async () => {
    const { inbox, claim } = await claimed()
    const pids = new Set<number>()
    for (let times = 0; times < 3; times++) {
      await inbox
        .transact(claim, LIMIT, async (transaction) => {
          const { rows } = await transaction.query('SELECT pg_backend_pid() AS pid')
          pids.add(rows[0].pid)
          throw new Error('the handler failed')
        })
        .catch(() => {})
    }
    expect(pids.size).toBe(1)
  })

  it('waits for a connection in bounded time, and leaves some to callbacks', async () => {
    const busyTimeoutMs = 4_000
    const { inbox, claim } = await claimed({ maxConnections: 5, busyTimeoutMs })
    const pass = fakeTimeouts()
    const [begun, finished] = [deferred(), deferred()]
    const first = inbox.transact(claim, LIMIT, async () => {
      begun.resolve()
      await finished.promise
      return COMPLETE
    })
    await begun.promise
    const work = async () => COMPLETE
    const refused = expect(inbox.transact(claim, LIMIT, work)).rejects.toMatchObject({
      code: 'ERR_INBOX_BUSY',
      message: expect.stringContaining('for transactional handlers'),
    })
    await pass(busyTimeoutMs)
    await refused
    jest.useRealTimers()
    const second = inbox.transact(claim, LIMIT, work)
    await inbox.add(arrival())
    finished.resolve()
    expect(await Promise.all([first, second])).toEqual(['committed', 'lost'])
  })

  it.each([
    "SET statement_timeout = '1h'",
    "SELECT set_config('search_path', 'elsewhere', false)",
    'CREATE TEMP TABLE entries (id int)',
    'SELECT 1 AS one INTO TEMP entries',
    'LISTEN something',
    'SELECT pg_advisory_lock(1)',
    "SELECT pg_try_advisory_lock_shared(hashtext('a'))",
    'PREPARE plan AS SELECT 1',
    'DECLARE rows CURSOR WITH HOLD FOR SELECT 1',
  ])('leaves nothing of its session to others: %s', async (query) => {
    const pool = new pg.Pool({ connectionString: database.connectionString, max: 5 })
    pool.on('error', () => {})
    const { inbox, claim } = await claimed({ pool, connectionString: undefined })
    let pid: unknown
    await inbox.transact(claim, LIMIT, async (transaction) => {
      pid = (await transaction.query('SELECT pg_backend_pid() AS pid')).rows[0].pid
      await transaction.query(query)
      return COMPLETE
    })
    const free = await Promise.all(Array.from({ length: 4 }, () => pool.connect()))
    const pids = await Promise.all(free.map((client) => client.query('SELECT pg_backend_pid() AS pid')))
    for (const client of free) client.release()
    expect(pids.map(({ rows }) => rows[0].pid)).not.toContain(pid)
    await inbox.close()
    await pool.end()
  })

  it('cannot end its transaction', async () => {
    const { inbox, claim } = await claimed()
    for (const query of ['COMMIT', 'SELECT 1; commit', '/* a /* b */ */ END', '-- c\nROLLBACK', 'BEGIN']) {
      await expect(
        inbox.transact(claim, LIMIT, async (transaction) => {
          await write(transaction, claim.id)
          await transaction.query(query)
          return COMPLETE
        }),
      ).rejects.toMatchObject({ code: 'ERR_TRANSACTION_CONTROL' })
    }
    expect(await ledger()).toEqual([])
  })

  it('can use savepoints', async () => {
    const { inbox, claim } = await claimed()
    await inbox.transact(claim, LIMIT, async (transaction) => {
      await transaction.query('SAVEPOINT a')
      await transaction.query('SELECT 1 / 0').catch(() => {})
      await transaction.query('ROLLBACK TO SAVEPOINT a')
      await write(transaction, claim.id)
      return COMPLETE
    })
    expect(await ledger()).toEqual([claim.id])
  })

  it('can use Drizzle and Knex', async () => {
    const { inbox, claim } = await claimed()
    const builder = knex({ client: 'pg' })
    await inbox.transact(claim, LIMIT, async (transaction) => {
      await drizzle({ client: transaction as unknown as pg.Client }).execute(
        sql`INSERT INTO ledger VALUES (${'drizzle'})`,
      )
      await builder('ledger').insert({ entry: 'knex' }).connection(transaction)
      return COMPLETE
    })
    expect(await ledger()).toEqual(['drizzle', 'knex'])
    await builder.destroy()
  })

  it('is committed or not as the server says when the answer to COMMIT is lost', async () => {
    const proxy = await TcpProxy.start(database.server.port)
    const connectionString = database.connectionString.replace(/:\d+\//, `:${proxy.port}/`)
    const { inbox, claim } = await claimed({ connectionString })
    let isArmed = false
    proxy.cutAfter = (bytes) => isArmed && bytes.includes('COMMIT\0') && !bytes.includes('NOTIFY')
    const working = inbox.transact(claim, LIMIT, async (transaction) => {
      await write(transaction, claim.id)
      isArmed = true
      return COMPLETE
    })
    const result = await working.catch(() => 'rejected')
    const isHandled = (await database.query(`SELECT 1 FROM ${schema}.ended WHERE state = 'handled'`)).rowCount
    expect(result).toBe(isHandled === 1 ? 'committed' : 'rejected')
    expect(await ledger()).toHaveLength(isHandled!)
    await inbox.close()
    await proxy.stop()
  })
})
