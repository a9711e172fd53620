import pg from 'pg'
import { SCHEMA_VERSION } from '../../../src/inbox/postgres/migrations.js'
import { migrationSql } from '../../../src/postgres.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'
import { manyEntries } from '../../support/postgres-rows.js'
import { roleWithSettings, settingsOfCommits } from '../../support/postgres-role.js'
import { watchedPool } from '../../support/watched-pool.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const COMPLETE = { move: 'complete' } as const

describeWithAnyDatabase('the functions of the database for workers', (database) => {
  it('take one statement to claim entries, which begins them if asked, and one to end them', async () => {
    const { pool, statements } = watchedPool(database.connectionString)
    const inbox = database.inboxOn(database.newSchema(), { pool })
    // The first claim also records the types that are asked for.
    await inbox.claim(ANY)
    await Promise.all(Array.from({ length: 5 }, () => inbox.add(arrival())))
    await inbox.stats()
    statements.length = 0
    const { entries } = await inbox.claim({ ...ANY, limit: 4, beginBelow: 1 })
    expect(entries.map(({ begun }) => begun)).toEqual(Array(4).fill(true))
    expect(statements.splice(0)).toEqual([expect.stringContaining('claim_entries')])
    const { entries: others } = await inbox.claim(ANY)
    expect(statements.splice(0)).toEqual([expect.stringContaining('claim_entries')])
    expect((await inbox.begin(others, 60_000)).size).toBe(1)
    statements.length = 0
    expect(
      (await inbox.settle([...entries, ...others].map((claim) => ({ claim, end: COMPLETE })))).size,
    ).toBe(5)
    expect(statements).toEqual([expect.stringContaining('settle_entries')])
    await inbox.close()
    await pool.end()
  })

  it.each(['serializable', 'repeatable read', 'read committed'])(
    'commit to the disk and see what others have committed, for a role with the isolation level %s',
    async (isolation) => {
      const schema = database.newSchema()
      const settings = ['synchronous_commit = off', `default_transaction_isolation = '${isolation}'`]
      const connectionString = await roleWithSettings(database, settings)
      const inbox = database.inboxOn(schema, { connectionString })
      await inbox.add(arrival())
      const committedWith = await settingsOfCommits(database, schema, 'UPDATE OR DELETE')
      const { entries } = await inbox.claim(ANY)
      expect((await inbox.begin(entries, 60_000)).size).toBe(1)
      expect((await inbox.settle([{ claim: entries[0]!, end: COMPLETE }])).size).toBe(1)
      expect(await committedWith()).toEqual(Array(3).fill('on read committed'))
    },
  )

  it('and the count of repeats are run again if the server has undone them to resolve a deadlock', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    const given = arrival()
    await inbox.add(given)
    const { entries } = await inbox.claim(ANY)
    await database.query(
      `CREATE SEQUENCE ${schema}.tries;
      CREATE FUNCTION ${schema}.fail_twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('${schema}.tries') < 3 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER fail_twice BEFORE INSERT ON ${schema}.ended FOR EACH ROW EXECUTE FUNCTION ${schema}.fail_twice();
      CREATE TRIGGER fail_twice BEFORE INSERT ON ${schema}.copies FOR EACH ROW EXECUTE FUNCTION ${schema}.fail_twice()`,
    )
    expect((await inbox.settle([{ claim: entries[0]!, end: COMPLETE }])).size).toBe(1)
    await database.query(`ALTER SEQUENCE ${schema}.tries RESTART`)
    expect((await inbox.add(given)).result).toBe('duplicate')
    expect(await inbox.show(entries[0]!.id)).toMatchObject({ state: 'handled', copies: 1 })
  })

  it('read no whole table, although their plans were made when the tables were empty', async () => {
    const schema = database.newSchema()
    await database.query(migrationSql(schema))
    const client = new pg.Client(database.connectionString)
    await client.connect()
    const { rows } = await client
      .query(
        `BEGIN; ${EACH_FUNCTION(schema)}; COMMIT; ${FILL(schema)};
      BEGIN; ${EACH_FUNCTION(schema)};
      SELECT relname FROM pg_stat_xact_user_tables WHERE schemaname = '${schema}' AND seq_scan > 0; ROLLBACK`,
      )
      .then((results) => (results as unknown as pg.QueryResult[]).at(-2)!)
    expect(rows).toEqual([])
    await client.end()
  })
})

/** Calls that reach every statement of the functions. */
const EACH_FUNCTION = (schema: string): string => {
  const last = `${SCHEMA_VERSION}, 1000`
  const ends = `ARRAY['handled'], ARRAY[NULL::bigint], ARRAY[NULL], ARRAY[false], ARRAY['handled'], ARRAY[NULL], 1`
  return `
    SELECT * FROM ${schema}.claim_entries(NULL, 10, 60000, false, 99, 0, ${last});
    SELECT * FROM ${schema}.claim_entries(ARRAY[1::bigint], 10, 60000, true, 0, 0, ${last});
    SELECT * FROM ${schema}.settle_entries(ARRAY[1::bigint], ARRAY[1], ${ends}, ${last})`
}

const FILL = (schema: string): string => `
  ${manyEntries(schema, 3_000, { state: "CASE n WHEN 1 THEN 'stored' ELSE 'handled' END", orderKey: '1' })}`
