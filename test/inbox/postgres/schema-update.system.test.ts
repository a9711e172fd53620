import { MIGRATIONS } from '../../../src/inbox/postgres/migrations.js'
import { sqlOf } from '../../../src/inbox/postgres/schema.js'
import { migrationSql } from '../../../src/postgres.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'

/** What a later version may bring. It fails if it is run twice. */
const LATER = {
  sql: "ALTER TABLE entries ADD COLUMN later text NOT NULL DEFAULT 'as before';",
  compatibleFrom: 1,
}

describeWithDatabase('a schema that a later version brings up to date', (database) => {
  it('gets each step once, whichever of several processes comes first, and keeps its entries', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    const { id } = await inbox.add(arrival())
    const sql = sqlOf([...MIGRATIONS, LATER], schema)
    await Promise.all(Array.from({ length: 4 }, () => database.query(sql)))
    const { rows } = await database.query(`SELECT id::text AS id, later FROM ${schema}.entries`)
    expect(rows).toEqual([{ id, later: 'as before' }])
    expect((await inbox.list({})).entries.map((entry) => entry.id)).toEqual([id])
  })

  it('is not updated while a long transaction uses a table, so that callbacks do not wait for its end', async () => {
    const schema = database.newSchema()
    await database.query(migrationSql(schema))
    const reader = await database.pool.connect()
    await reader.query(`BEGIN; SELECT FROM ${schema}.entries`)
    const update = database.query(sqlOf([...MIGRATIONS, LATER], schema))
    await expect(update).rejects.toThrow(/lock timeout/)
    await reader.query('COMMIT')
    reader.release()
    await database.query(sqlOf([...MIGRATIONS, LATER], schema))
  })

  it('that is lost by a failover is named in the error, and is made again without a restart', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    // A standby that lacked the migration has become the primary server.
    await database.query(`DROP SCHEMA ${schema} CASCADE`)
    const missing = { code: 'ERR_INBOX_FORBIDDEN' }
    await expect(inbox.add(arrival())).rejects.toMatchObject(missing)
    await expect(inbox.list({ bodyId: 'transfer 1' })).rejects.toMatchObject(missing)
    await database.query(migrationSql(schema))
    expect((await inbox.add(arrival())).result).toBe('stored')
  })
})
