import pg from 'pg'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const

describeWithAnyDatabase(
  'a PostgresInbox, when the application has given back a connection within a transaction',
  (database) => {
    let pool: pg.Pool
    let inbox: PostgresInbox
    let schema: string

    beforeEach(async () => {
      schema = database.newSchema()
      pool = new pg.Pool({ connectionString: database.connectionString, max: 4 })
      // Its connections may still be closing when the server is stopped.
      pool.on('error', () => {})
      inbox = database.inboxOn(schema, { pool })
      await database.query(`CREATE TABLE ${schema}_own (id integer)`)
    })
    afterEach(async () => {
      await inbox.close()
      await pool.end()
    })

    const leaveTransaction = async (last = ''): Promise<void> => {
      const client = await pool.connect()
      await client.query(`BEGIN; INSERT INTO ${schema}_own VALUES (1)`)
      await client.query(last).catch(() => {})
      client.release()
    }
    const seenByOthers = async (table: string): Promise<number> =>
      (await database.query(`SELECT FROM ${table}`)).rowCount!

    it.each([
      ['a callback', {}, ''],
      ['a callback with an order key', { orderKey: 'account 1' }, ''],
      ['a callback after a statement that failed', {}, 'SELECT 1 / 0'],
    ])('stores %s, and nothing of that transaction', async (_what, options, last) => {
      await inbox.open()
      await leaveTransaction(last)
      expect((await inbox.add(arrival(options))).result).toBe('stored')
      expect(await seenByOthers(`${schema}.entries`)).toBe(1)
      expect(await seenByOthers(`${schema}_own`)).toBe(0)
    })

    it('lets a commit end that the application has not waited for', async () => {
      await inbox.open()
      const client = await pool.connect()
      await client.query(`BEGIN; INSERT INTO ${schema}_own VALUES (1)`)
      const committing = client.query('COMMIT')
      client.release()
      expect((await inbox.add(arrival())).result).toBe('stored')
      await committing
      expect(await seenByOthers(`${schema}_own`)).toBe(1)
    })

    it('opens, and claims entries', async () => {
      await leaveTransaction()
      await inbox.open()
      const { id } = await inbox.add(arrival())
      expect((await inbox.claim(ANY)).entries).toMatchObject([{ id }])
      expect(await seenByOthers(`${schema}_own`)).toBe(0)
    })
  },
)
