import pg from 'pg'
import { checkServer } from '../../../src/inbox/postgres/check-server.js'
import type { Connection } from '../../../src/inbox/postgres/connections.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'
import { parsing } from '../../support/type-parser.js'

const { INT4, BOOL, BYTEA } = pg.types.builtins
const asText = (text: string) => text

/** Sends each Buffer as a text that ends at its first zero byte, as pg-native does. */
class TextClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config)
    const query = this.query.bind(this) as (text: string, values?: unknown[]) => Promise<unknown>
    const asText = (value: unknown) =>
      Buffer.isBuffer(value) ? value.toString().replace(/\0.*/s, '') : value
    Object.assign(this, { query: (text: string, values?: unknown[]) => query(text, values?.map(asText)) })
  }
}

describeWithAnyDatabase('a PostgresInbox refuses', (database) => {
  it.each([
    ['each integer as a bigint', parsing(INT4, BigInt), 'an integer as bigint'],
    ['each boolean as a text', parsing(BOOL, asText), 'a boolean as string'],
    ['each bytea as a text', parsing(BYTEA, asText), 'a bytea as string'],
    ['binary values', { binary: true }, 'a bytea as string'],
    [
      'bytes cut at a zero, as pg-native',
      { Client: TextClient },
      'the driver changes the bytes that it sends',
    ],
  ])('a pool that returns %s', async (_what, config, message) => {
    const pool = new pg.Pool({ connectionString: database.connectionString, ...config })
    pool.on('error', () => {})
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, { pool })
    const code = 'ERR_INBOX_UNSUPPORTED'
    await expect(inbox.open()).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
    const { rowCount } = await database.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
    expect(rowCount).toBe(0)
    await inbox.close()
    await pool.end()
  })

  it('a database in an encoding that lacks characters', async () => {
    const url = new URL(database.connectionString)
    url.pathname += '_latin1'
    const name = url.pathname.slice(1)
    const like = "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
    await database.query(`CREATE DATABASE ${name} ${like}`)
    const inbox = database.inboxOn('countersign', { connectionString: url.href })
    await expect(inbox.open()).rejects.toMatchObject({
      code: 'ERR_INBOX_UNSUPPORTED',
      message: expect.stringContaining('the encoding of the database is LATIN1'),
    })
    await inbox.close()
    await database.query(`DROP DATABASE ${name} WITH (FORCE)`)
  })
})

test.each([
  ['12.22', false],
  ['13.0', true],
  ['13.23 (Debian 13.23-0+deb11u1)', true],
  ['19beta1', true],
])('an inbox on PostgreSQL %s is possible: %p', async (version, isPossible) => {
  const row = { version, encoding: 'UTF8', integer: 1, boolean: true, bytes: Buffer.of(0) }
  const query = () => Promise.resolve({ command: 'SELECT', rowCount: 1, rows: [row] })
  const checking = checkServer({ query } as unknown as Connection, 'countersign')
  if (isPossible) await expect(checking).resolves.toBeUndefined()
  else
    await expect(checking).rejects.toMatchObject({
      code: 'ERR_INBOX_UNSUPPORTED',
      message: expect.stringContaining(`PostgreSQL ${version}. Use version 13`),
    })
})
