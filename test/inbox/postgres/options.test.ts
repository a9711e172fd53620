import pg from 'pg'
import type { PostgresInboxOptions } from '../../../src/postgres.js'
import { grantStatements, migrationSql } from '../../../src/postgres.js'
import { PostgresInbox } from '../../support/whole-inbox.js'

const connectionString = 'postgres://ann:s3cret@db.example.com/callbacks'
const pool = { connect: () => Promise.reject(new Error('no')), on: () => {}, removeListener: () => {} }

describe('new PostgresInbox', () => {
  it.each<[string, PostgresInboxOptions, string]>([
    ['nothing to connect to', {}, 'connectionString'],
    ['an empty connection string', { connectionString: '' }, 'connectionString'],
    [
      'a connection string that is not a URL',
      { connectionString: 'postgres://ann:s3cret@[x' },
      'connectionString',
    ],
    ['a pool and a connection string', { pool, connectionString }, 'connectionString'],
    ['a pool that is none', { pool: { connect: 1 } as never }, 'pool'],
    ['a client', { pool: new pg.Client(connectionString) as never }, 'pool'],
    ['a pool that is too small', { pool: { ...pool, options: { max: 3 } } }, 'pool'],
    ['maxConnections of a pool', { pool, maxConnections: 5 }, 'maxConnections'],
    ['keywords', { connectionString: 'host=localhost password=s3cret' }, 'connectionString'],
    ['too few connections', { connectionString, maxConnections: 3 }, 'maxConnections'],
    ['a schema without a name', { connectionString, schema: '' }, 'schema'],
    ['a schema of the system', { connectionString, schema: 'pg_catalog' }, 'schema'],
    ['a schema with too long a name', { connectionString, schema: 'x'.repeat(64) }, 'schema'],
    ['a schema that PostgreSQL takes for that of the role', { connectionString, schema: '$user' }, 'schema'],
    ['a schema with U+0000', { connectionString, schema: 'a\0b' }, 'schema'],
    ['a schema that is no text', { connectionString, schema: 17 as never }, 'schema'],
    ['a schema with a line end', { connectionString, schema: 'callbacks\n' }, 'schema'],
    ['a line end', { connectionString: `${connectionString}\n` }, 'connectionString'],
    ['keywords after a space', { connectionString: ' host=localhost password=s3cret' }, 'connectionString'],
    [
      'several hosts',
      { connectionString: 'postgres://app:s3cret@one:5432,two:5432/bank' },
      'connectionString',
    ],
    ['a retention of 0', { connectionString, retentionMs: 0 }, 'retentionMs'],
  ])('refuses %s, without the password', (_what, options, option) => {
    let error: unknown
    try {
      error = new PostgresInbox(options)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject({ code: 'ERR_OPTION_INVALID', owner: 'new PostgresInbox', option })
    expect((error as Error).stack).not.toContain('s3cret')
  })

  it.each([
    ['several hosts', 'postgres://app:s3cret@one,two/bank'],
    ['several hosts', 'postgresql://one:5432,two:5433/bank?target_session_attrs=read-write'],
    ['several hosts', 'postgres://[::1]:5432,[::2]/bank'],
    ['several hosts', 'postgres:///bank?host=one,two'],
    ['several hosts', 'postgres:///bank?host=one&host=two'],
    ['several hosts', 'postgres://one/bank?port=5432,5433'],
    [
      'target_session_attrs',
      'postgres://app:s3cret@one/bank?sslmode=verify-full&target_session_attrs=primary',
    ],
    ['load_balance_hosts', 'postgres://one/bank?load_balance_hosts=random'],
  ])('says that a URL with %s is not supported, and what to do: %s', (what, url) => {
    const message = `connectionString is a URL with ${what}: this is not supported. Name one address that leads to the primary`
    expect(() => new PostgresInbox({ connectionString: url })).toThrow(message)
  })

  it.each([
    'postgres://app:a,b@one/bank',
    'postgres://one/bank?host=/run/postgresql',
    'postgres://[::1]:5432/bank',
  ])('takes one host: %s', (url) => {
    expect(new PostgresInbox({ connectionString: url, logger: false })).toBeDefined()
  })

  it.each(['', 'x'.repeat(64), 'é'.repeat(32), 'a\0b', ' a', 'pg_temp', '$user', 'information_schema'])(
    'has a schema whose name migrationSql and grantStatements take as well: not %j',
    (schema) => {
      const refused = expect.objectContaining({ code: 'ERR_OPTION_INVALID', option: 'schema' })
      expect(() => migrationSql(schema)).toThrow(refused)
      expect(() => grantStatements('receiver', schema)).toThrow(refused)
    },
  )

  it.each(['', 'x'.repeat(64), 'a\0b', 'public', 'none'])('is granted to no role %j', (role) => {
    const refused = expect.objectContaining({ code: 'ERR_OPTION_INVALID', option: 'role' })
    expect(() => grantStatements(role)).toThrow(refused)
  })

  it('says what to install when there is no pg', async () => {
    jest.doMock('pg', () => {
      throw new Error("Cannot find module 'pg'")
    })
    const inbox = new PostgresInbox({ connectionString, logger: false })
    await expect(inbox.open()).rejects.toMatchObject({
      code: 'ERR_INBOX_DRIVER_MISSING',
      message: expect.stringContaining('npm install pg'),
    })
    await inbox.close()
  })

  it('refuses what is asked of it once it is closed', async () => {
    const inbox = new PostgresInbox({ pool, logger: false })
    await inbox.close()
    await expect(inbox.open()).rejects.toMatchObject({ code: 'ERR_CLOSED' })
    await expect(inbox.stats()).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  })
})
