import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { TABLES } from '../../src/inbox/postgres/schema.js'
import { migrationSql, type PostgresInboxOptions } from '../../src/postgres.js'
import { PostgresInbox } from './whole-inbox.js'
import { describeWithPostgres, PostgresServer, QUICK_SETTINGS } from './postgres-server.js'

/** A database of its own for a test file, with a connection for the tests themselves. */
export interface AnyDatabase {
  readonly connectionString: string
  readonly query: (sql: string, values?: unknown[]) => Promise<pg.QueryResult>
  /** A schema that no other test has used. */
  readonly newSchema: () => string
  /** The same schema each time, with nothing in its tables: to make one takes longer than most tests. */
  readonly emptySchema: () => Promise<string>
  /** For inboxes that need no connections of their own: to open connections takes longer than most tests. */
  readonly pool: pg.Pool
  /** An inbox that is closed after the test. It has connections of its own unless the options have a pool. */
  readonly inboxOn: (schema: string, options?: Partial<PostgresInboxOptions>) => PostgresInbox
}

/** A database on a server that the tests may kill, configure and reach through proxies. */
export interface TestDatabase extends AnyDatabase {
  readonly server: PostgresServer
}

/** The connection string of a server that is to be used where tests do not need one of their own. */
const NAMED_SERVER = process.env['COUNTERSIGN_TEST_POSTGRES']

/** `describe` with a server that runs while its tests do; skipped where PostgreSQL is not installed. */
export function describeWithDatabase(
  name: string,
  test: (database: TestDatabase) => void,
  settings: readonly string[] = QUICK_SETTINGS,
): void {
  let server: PostgresServer
  describeWithPostgres(name, () => {
    const database = databaseOf(async () => {
      server = await PostgresServer.start(settings)
      return { connectionString: server.connectionString(), remove: () => server.remove() }
    })
    test(Object.defineProperty(database, 'server', { get: () => server }) as TestDatabase)
  })
}

/** `describe` with a database on the server that COUNTERSIGN_TEST_POSTGRES names, or else on one that is started for it. */
export function describeWithAnyDatabase(name: string, test: (database: AnyDatabase) => void): void {
  if (!NAMED_SERVER) return describeWithDatabase(name, test)
  describe(name, () => test(databaseOf(() => createDatabaseOn(NAMED_SERVER))))
}

async function createDatabaseOn(
  server: string,
): Promise<{ connectionString: string; remove(): Promise<void> }> {
  const client = new pg.Client(server)
  await client.connect()
  const name = `countersign_test_${randomUUID().replaceAll('-', '')}`
  await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
  const url = new URL(server)
  url.pathname = name
  const remove = async () => {
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await client.end()
  }
  return { connectionString: url.href, remove }
}

const EMPTIED = 'test_emptied'

/** Makes the database before the tests of the `describe` that calls it, and removes it after them. */
function databaseOf(
  create: () => Promise<{ connectionString: string; remove(): Promise<void> }>,
): AnyDatabase {
  let created: Awaited<ReturnType<typeof create>>
  let pool: pg.Pool
  let schemas = 0
  let hasEmptied = false
  const inboxes: PostgresInbox[] = []

  beforeAll(async () => {
    created = await create()
    pool = new pg.Pool({ connectionString: created.connectionString, max: 10 })
    pool.on('error', () => {})
  }, 60_000)
  afterEach(async () => {
    await Promise.all(inboxes.splice(0).map((inbox) => inbox.close()))
  })
  afterAll(async () => {
    await pool.end()
    await created.remove()
  })

  return {
    get connectionString() {
      return created.connectionString
    },
    get pool() {
      return pool
    },
    query: (sql, values) => pool.query(sql, values),
    newSchema: () => `test_${++schemas}`,
    async emptySchema() {
      if (!hasEmptied) await pool.query(migrationSql(EMPTIED))
      hasEmptied = true
      await pool.query(TABLES.map((table) => `DELETE FROM ${EMPTIED}.${table}`).join(';'))
      return EMPTIED
    },
    inboxOn: (schema, options) => {
      const connectionString = options?.pool ? undefined : created.connectionString
      const inbox = new PostgresInbox({ connectionString, schema, logger: false, ...options })
      inboxes.push(inbox)
      return inbox
    },
  }
}

/** Makes the schema with a clock that stands still. The returned function moves it on. */
export async function withFakeClock(
  { query }: AnyDatabase,
  schema: string,
  startAt = Date.now(),
): Promise<(ms: number) => Promise<void>> {
  await query(migrationSql(schema))
  await query(
    `CREATE TABLE ${schema}.test_clock (ms bigint);
    INSERT INTO ${schema}.test_clock VALUES (${startAt});
    CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
      AS 'SELECT ms FROM ${schema}.test_clock'`,
  )
  return async (ms) => {
    await query(`UPDATE ${schema}.test_clock SET ms = ms + $1`, [ms])
  }
}

const { now } = performance
let movedOnMs = 0
afterAll(() => void (performance.now = now))

/** As `withFakeClock`, and the monotonic clock of this process moves on with that of the database until the tests are over. */
export async function withFakeTime(
  database: AnyDatabase,
  schema: string,
  startAt?: number,
): Promise<(ms: number) => Promise<void>> {
  const moveOn = await withFakeClock(database, schema, startAt)
  performance.now = () => now.call(performance) + movedOnMs
  return async (ms) => {
    movedOnMs += Math.max(0, ms)
    await moveOn(ms)
  }
}
