import pg from 'pg'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/node-postgres'
import createKnex from 'knex'
import {
  createWorker,
  RetryLaterError,
  type Handler,
  type TransactionalContext,
  type InboxWorker,
} from '../../src/index.js'
import { PostgresInbox } from '../support/whole-inbox.js'
import type { CallbackEvent, EventMap } from '../../src/index.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { deferred } from '../support/deferred.js'
import { describeWithDatabase } from '../support/postgres-inbox.js'
import { subscription } from '../support/subscription.js'
import { becomes } from '../support/running-worker.js'
import { until } from '../support/until.js'

const TYPE = subscription.eventTypeName

type TransactionalHandler = Handler<CallbackEvent, TransactionalContext>

const ledger = pgTable('ledger', { transferId: text('transfer_id').primaryKey() })
const knex = createKnex({ client: 'pg' })

/** The same handler with each of the libraries that docs/transactions.md names. */
const LIBRARIES: Record<string, TransactionalHandler> = {
  pg: async ({ payload }, { transaction }) => {
    await transaction.query('INSERT INTO ledger (transfer_id) VALUES ($1)', [payload.Id])
  },
  Drizzle: async ({ payload }, { transaction }) => {
    const db = drizzle({ client: transaction as never })
    await db.insert(ledger).values({ transferId: payload.Id })
    expect(await db.select().from(ledger)).toEqual([{ transferId: payload.Id }])
  },
  Knex: async ({ payload }, { transaction }) => {
    await knex('ledger').insert({ transfer_id: payload.Id }).connection(transaction)
    expect(await knex('ledger').connection(transaction)).toEqual([{ transfer_id: payload.Id }])
  },
}

describeWithDatabase('a transactional handler with PostgreSQL', (database) => {
  let schema: string
  const stops: (() => Promise<void>)[] = []

  beforeEach(async () => {
    schema = await database.emptySchema()
    await database.query(`DROP TABLE IF EXISTS ledger, outbox;
      CREATE TABLE ledger (transfer_id text PRIMARY KEY);
      CREATE TABLE outbox (idempotency_key text PRIMARY KEY, body text)`)
  })
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })

  const rows = async (table: string) => (await database.query(`SELECT * FROM ${table}`)).rows
  const committed = async () => (await rows('ledger')).map((row) => row.transfer_id)

  async function setUp(
    handler: TransactionalHandler,
    options: { timeoutMs?: number; leaseMs?: number; maxConnections?: number; concurrency?: number } = {},
  ) {
    const { timeoutMs = 10_000, maxConnections = 8, ...ofWorker } = options
    const log = collectedLog()
    const { connectionString } = database
    const inbox = new PostgresInbox({ connectionString, schema, maxConnections, logger: log })
    const worker: InboxWorker<EventMap> = createWorker({
      inbox,
      logger: log,
      pollMs: 20,
      retryDelayMs: 1,
      stopTimeoutMs: 500,
      ...ofWorker,
    })
    stops.push(() => worker.stop())
    worker.on(TYPE, handler, { transactional: true, timeoutMs })
    const store = async (Id: string) => (await inbox.add(arrival({ body: JSON.stringify({ Id }) }))).id
    return { worker, inbox, log, store }
  }

  it.each(Object.entries(LIBRARIES))(
    'writes with %s, and what it wrote is committed with the end',
    async (_, handler) => {
      const { worker, inbox, store } = await setUp(handler)
      const id = await store('one')
      await worker.start()
      await becomes(inbox, id, 'handled', 1)
      expect(await committed()).toEqual(['one'])
    },
  )

  it.each(Object.entries(LIBRARIES))(
    'that throws after it wrote with %s leaves nothing',
    async (_, write) => {
      const { worker, inbox, store } = await setUp(async (event, context) => {
        await write(event, context)
        if (context.attempt === 1) throw new Error('not yet')
      })
      const attempts: number[] = []
      worker.events.on('failed', ({ attempt }) => attempts.push(attempt))
      const id = await store('one')
      await worker.start()
      await becomes(inbox, id, 'handled', 2)
      expect(attempts).toEqual([1])
      expect(await committed()).toEqual(['one'])
    },
  )

  it('is not tried again before the delay that it asks for', async () => {
    const { worker, inbox, store } = await setUp(async (event, { transaction }) => {
      await transaction.query('INSERT INTO ledger VALUES ($1)', [event.payload.Id])
      throw new RetryLaterError('away', { retryAfterMs: 120_000.5 })
    })
    const id = await store('one')
    await worker.start()
    const { dueAt, attemptHistory } = await becomes(inbox, id, 'retrying', 1)
    expect(Number(dueAt) - Number(attemptHistory[0]!.endedAt)).toBe(120_001)
    expect(await committed()).toEqual([])
  })

  it('puts what cannot be rolled back into an outbox of the same transaction', async () => {
    const { worker, inbox, store } = await setUp(async (event, { transaction, attempt }) => {
      await transaction.query('INSERT INTO ledger VALUES ($1)', [event.payload.Id])
      const body = JSON.stringify({ booked: event.payload.Id })
      await transaction.query('INSERT INTO outbox VALUES ($1, $2)', [event.idempotencyKey, body])
      if (attempt < 3) throw new Error('not yet')
    })
    const id = await store('one')
    await worker.start()
    const { idempotencyKey } = await becomes(inbox, id, 'handled', 3)
    expect(await rows('outbox')).toEqual([{ idempotency_key: idempotencyKey, body: '{"booked":"one"}' }])
  })

  it('is rolled back when its time is up, although a query is running, and when it returns late', async () => {
    const errors: unknown[] = []
    const { worker, inbox, store } = await setUp(
      async (event, { transaction }) => {
        await transaction.query('INSERT INTO ledger VALUES ($1)', [event.payload.Id])
        // The first attempt that comes so far: on a busy machine, the statement above may already take too long.
        if (errors.length > 0) return
        await transaction.query('SELECT pg_sleep(30)').catch((error) => errors.push(error))
      },
      { timeoutMs: 200 },
    )
    const failures: unknown[] = []
    worker.events.on('failed', ({ code }) => failures.push(code))
    const id = await store('one')
    await worker.start()
    // Until the server has ended the query, the row of the first attempt is locked, and others run out of time as well.
    await becomes(inbox, id, 'handled')
    expect(new Set(failures)).toEqual(new Set(['ERR_HANDLER_TIMEOUT']))
    expect(errors).toHaveLength(1)
    expect(await committed()).toEqual(['one'])
  })

  it('is retried when a constraint fails at the commit', async () => {
    await database.query(`ALTER TABLE ledger ADD UNIQUE (transfer_id) DEFERRABLE INITIALLY DEFERRED;
      ALTER TABLE ledger DROP CONSTRAINT ledger_pkey`)
    const { worker, inbox, store } = await setUp(async (event, { transaction, attempt }) => {
      for (let times = attempt === 1 ? 2 : 1; times > 0; times--)
        await transaction.query('INSERT INTO ledger VALUES ($1)', [event.payload.Id])
    })
    const reasons: unknown[] = []
    worker.events.on('failed', ({ error }) => reasons.push((error as Error).message))
    const id = await store('one')
    await worker.start()
    await becomes(inbox, id, 'handled', 2)
    expect(reasons).toEqual([
      expect.stringMatching(/^the transaction of the handler was not committed: .*unique/),
    ])
    expect(await committed()).toEqual(['one'])
  })

  it('whose entry was taken by another worker cannot commit', async () => {
    const { promise, resolve } = deferred()
    let hasWritten = false
    const lost: unknown[] = []
    const { worker, store } = await setUp(async (event, { transaction }) => {
      await transaction.query('INSERT INTO ledger VALUES ($1)', [event.payload.Id])
      hasWritten = true
      await promise
    })
    worker.events.on('leaseLost', ({ entryId }) => lost.push(entryId))
    const id = await store('one')
    await worker.start()
    await until(() => hasWritten)
    // As a worker does that finds the lease ended.
    await database.query(`UPDATE ${schema}.due SET token = token + 1 WHERE id = $1`, [id])
    resolve()
    await until(() => lost.length === 1)
    expect(await committed()).toEqual([])
  })

  it('that loses its connection is rolled back, and handled once in the end', async () => {
    const { worker, store } = await setUp(async (event, { transaction, attempt }) => {
      await transaction.query('INSERT INTO ledger VALUES ($1)', [event.payload.Id])
      if (attempt > 1) return
      await database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'countersign'",
      )
    })
    const attempts: number[] = []
    worker.onHandled(({ attempt }) => attempts.push(attempt))
    await store('one')
    await worker.start()
    await until(() => attempts.length === 1)
    // The next attempt may be given a connection that the server is about to end.
    expect(attempts[0]).toBeGreaterThan(1)
    expect(await committed()).toEqual(['one'])
  })

  it('and others run on while somebody has locked the row of an entry', async () => {
    const { promise, resolve } = deferred()
    let isRunning = false
    const aborted: unknown[] = []
    const { worker, inbox, store } = await setUp(
      async (event, { signal }) => {
        signal.addEventListener('abort', () => aborted.push(event.payload.Id))
        if (event.payload.Id !== 'locked') return
        isRunning = true
        await promise
      },
      { leaseMs: 20_000 },
    )
    const locked = await store('locked')
    await worker.start()
    await until(() => isRunning)
    const client = new pg.Client(database.connectionString)
    await client.connect()
    await client.query('BEGIN')
    await client.query(`SELECT 1 FROM ${schema}.due WHERE id = $1 FOR UPDATE`, [locked])
    // The end of the locked entry is to be recorded again and again.
    resolve()
    for (let round = 0; round < 3; round++) {
      const ids = await Promise.all(['a', 'b', 'c'].map((name) => store(`${name}${round}`)))
      for (const id of ids) await becomes(inbox, id, 'handled', 1)
    }
    await client.query('ROLLBACK')
    await client.end()
    await becomes(inbox, locked, 'handled')
    expect(aborted).toEqual([])
  })

  it('refuses to end the transaction', async () => {
    const { worker, inbox, store } = await setUp(async (event, { transaction }) => {
      await transaction.query('INSERT INTO ledger VALUES ($1)', [event.payload.Id])
      await transaction.query('COMMIT')
    })
    const codes: unknown[] = []
    worker.events.on('failed', ({ error }) => codes.push((error as { code?: string }).code))
    const id = await store('one')
    await worker.start()
    await until(() => codes.length > 0)
    expect(codes[0]).toBe('ERR_TRANSACTION_CONTROL')
    expect(await committed()).toEqual([])
    expect((await inbox.show(id))!.state).not.toBe('handled')
  })

  it('leaves connections to callbacks and leases however long it runs, which is said at the start', async () => {
    const { promise, resolve } = deferred()
    let running = 0
    const { worker, inbox, log, store } = await setUp(
      async () => {
        running++
        await promise
      },
      { maxConnections: 6, concurrency: 20 },
    )
    const ids = await Promise.all(Array.from({ length: 20 }, (_, index) => store(String(index))))
    await worker.start()
    await until(() => running === 2)
    const fields = { concurrency: 20, maxTransactions: 2 }
    expect(log.withCode('WARN_CONCURRENCY_LIMITED')).toMatchObject([{ fields }])
    const added = await Promise.all(Array.from({ length: 20 }, (_, index) => store(`later ${index}`)))
    expect((await inbox.stats()).counts.running).toBe(2)
    resolve()
    for (const id of [...ids, ...added]) await becomes(inbox, id, 'handled', 1)
  })

  it('waits for a connection when more of them run than there are', async () => {
    const { worker, inbox, store } = await setUp(LIBRARIES['pg']!, { maxConnections: 4, concurrency: 20 })
    const ids = await Promise.all(Array.from({ length: 40 }, (_, index) => store(String(index))))
    await worker.start()
    for (const id of ids) await becomes(inbox, id, 'handled')
    expect((await committed()).length).toBe(40)
  })
})
