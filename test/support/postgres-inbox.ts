import pg from 'pg'
import { migrationSql, PostgresInbox, type PostgresInboxOptions } from '../../src/postgres.js'
import { describeWithPostgres, PostgresServer } from './postgres-server.js'

/** The server of a test file, with a connection for the tests themselves. */
export interface TestDatabase {
  readonly server: PostgresServer
  readonly connectionString: string
  readonly query: (sql: string, values?: unknown[]) => Promise<pg.QueryResult>
  /** A schema that no other test has used. */
  readonly newSchema: () => string
  /** An inbox that is closed after the test. */
  readonly inboxOn: (schema: string, options?: Partial<PostgresInboxOptions>) => PostgresInbox
}

// A test that kills the server configures its own.
const QUICK = ['fsync = off', 'full_page_writes = off']

/** `describe` with a server that runs while its tests do; skipped where PostgreSQL is not installed. */
export function describeWithDatabase(
  name: string,
  test: (database: TestDatabase) => void,
  settings: readonly string[] = QUICK,
): void {
  describeWithPostgres(name, () => {
    let server: PostgresServer
    let connectionString: string
    let pool: pg.Pool
    let schemas = 0
    const inboxes: PostgresInbox[] = []

    beforeAll(async () => {
      server = await PostgresServer.start(settings)
      connectionString = await server.createDatabase()
      pool = new pg.Pool({ connectionString, max: 2 })
      pool.on('error', () => {})
    }, 60_000)
    afterEach(async () => {
      await Promise.all(inboxes.splice(0).map((inbox) => inbox.close()))
    })
    afterAll(async () => {
      await pool.end()
      await server.stop()
    })

    test({
      get server() {
        return server
      },
      get connectionString() {
        return connectionString
      },
      query: (sql, values) => pool.query(sql, values),
      newSchema: () => `test_${++schemas}`,
      inboxOn: (schema, options) => {
        const inbox = new PostgresInbox({ connectionString, schema, logger: false, ...options })
        inboxes.push(inbox)
        return inbox
      },
    })
  })
}

/** Makes the schema with a clock that stands still. The returned function moves it on. */
export async function withFakeClock(
  { query }: TestDatabase,
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
