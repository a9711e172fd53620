import pg from 'pg'
import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/inbox/postgres/migrations.js'
import { advisoryLock, sqlOf } from '../../../src/inbox/postgres/schema.js'
import { grantStatements, migrationSql } from '../../../src/postgres.js'
import { type PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { collectedLog } from '../../support/collected-log.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { roleWithSettings, settingsOfCommits } from '../../support/postgres-role.js'
import { nextLook } from '../../support/until.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const COMPATIBLE = { sql: 'CREATE TABLE later (id integer);', compatibleFrom: 1 }
const INCOMPATIBLE = { sql: 'ALTER TABLE entries RENAME TO items;', compatibleFrom: SCHEMA_VERSION + 1 }

describeWithDatabase('the schema of a PostgresInbox', (database) => {
  it('is made by one of several processes that start at once', async () => {
    const schema = database.newSchema()
    const inboxes = Array.from({ length: 5 }, () => database.inboxOn(schema))
    await Promise.all(inboxes.map((inbox) => inbox.open()))
    await Promise.all(inboxes.map((inbox) => inbox.add(arrival())))
    expect((await inboxes[0]!.stats()).counts.stored).toBe(5)
  })

  it('is made by one of several processes, whatever isolation their role has', async () => {
    const schema = database.newSchema()
    const serializable = ["default_transaction_isolation = 'serializable'"]
    const connectionString = await roleWithSettings(database, serializable)
    const inboxes = Array.from({ length: 5 }, () => database.inboxOn(schema, { connectionString }))
    await Promise.all(inboxes.map((inbox) => inbox.open()))
  })

  it('is made by migrationSql as well, which changes nothing the second time', async () => {
    const schema = 'Own "schema"'
    await database.query(migrationSql(schema))
    await database.query(migrationSql(schema))
    expect((await database.inboxOn(schema).add(arrival())).result).toBe('stored')
  })

  describe.each(['on', 'off'])('with standard_conforming_strings %s', (strings) => {
    it.each([
      '$countersign$',
      '$countersign$; DROP SCHEMA public; $countersign_$',
      `it's "quoted" \\'); DROP SCHEMA public; --`,
      '/* a.b\n-- c',
      'Ü名' + 'x'.repeat(58),
    ])('may have the name %j', async (schema) => {
      const role = `${schema.slice(0, 50)} ${strings}`
      await database.query(`CREATE ROLE ${pg.escapeIdentifier(role)} LOGIN`)
      const setting = `options=-c%20standard_conforming_strings=${strings}`
      const connectionString = `${database.connectionString}?${setting}`
      await database.server.query(migrationSql(schema), [], connectionString)
      await database.server.query(grantStatements(role, schema), [], connectionString)
      const { rows } = await database.query(
        "SELECT nspname FROM pg_namespace WHERE nspname IN ($1, 'public') ORDER BY nspname = 'public'",
        [schema],
      )
      expect(rows).toEqual([{ nspname: schema }, { nspname: 'public' }])
      expect((await database.inboxOn(schema, { connectionString }).add(arrival())).result).toBe('stored')
      await database.query(`DROP SCHEMA ${pg.escapeIdentifier(schema)} CASCADE`)
    })
  })

  it('can be renamed, and is not confused with one that gets its former name', async () => {
    const [former, schema] = [database.newSchema(), 'renamed "schema"']
    await database.inboxOn(former).add(arrival())
    await database.query(`ALTER SCHEMA ${former} RENAME TO ${pg.escapeIdentifier(schema)}`)
    await database.inboxOn(former).open()
    await database.query('CREATE ROLE "the worker" LOGIN')
    await database.query(grantStatements('the worker', schema))
    const { pathname } = new URL(database.connectionString)
    const connectionString = database.server.connectionString(pathname.slice(1), 'the%20worker')
    await expect(database.inboxOn(schema, { connectionString }).open()).rejects.toMatchObject({
      code: 'ERR_INBOX_FORBIDDEN',
      message: expect.stringContaining('was renamed'),
    })
    const inbox = database.inboxOn(schema)
    await inbox.add(arrival())
    expect((await inbox.stats()).counts.stored).toBe(2)
    expect((await inbox.claim(ANY)).entries).toHaveLength(2)
    await database.inboxOn(schema, { connectionString }).open()
    expect((await database.inboxOn(former).stats()).counts.stored).toBe(0)
  })

  it('can be used while a newer version that is compatible has migrated it', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    await database.query(sqlOf([...MIGRATIONS, COMPATIBLE], schema))
    expect((await inbox.add(arrival())).result).toBe('stored')
    expect((await database.inboxOn(schema).add(arrival())).result).toBe('stored')
  })

  it('is refused when a newer version has migrated it incompatibly, also while it is open', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    await database.query(sqlOf([...MIGRATIONS, INCOMPATIBLE], schema))
    const newer = { code: 'ERR_INBOX_NEWER', message: expect.stringContaining('Update this process') }
    await expect(inbox.add(arrival())).rejects.toMatchObject(newer)
    await expect(inbox.claim(ANY)).rejects.toMatchObject(newer)
    await expect(database.inboxOn(schema).open()).rejects.toMatchObject(newer)
  })

  it('is used by a role that may not change it', async () => {
    const schema = database.newSchema()
    await database.query(`CREATE ROLE "the receiver" LOGIN`)
    const { pathname } = new URL(database.connectionString)
    const connectionString = database.server.connectionString(pathname.slice(1), 'the%20receiver')
    const inbox = database.inboxOn(schema, { connectionString })
    await expect(inbox.open()).rejects.toMatchObject({
      code: 'ERR_INBOX_FORBIDDEN',
      message: expect.stringMatching(
        `schema "${schema}" does not exist, version ${SCHEMA_VERSION} is needed`,
      ),
    })
    await database.query(migrationSql(schema))
    await expect(inbox.open()).rejects.toMatchObject({
      code: 'ERR_INBOX_FORBIDDEN',
      message: expect.stringContaining('countersign inbox migrate --print --role'),
    })
    await database.query(grantStatements('the receiver', schema))
    await inbox.open()
    const given = arrival({ orderKey: 'account 1' })
    const { id } = await inbox.add(given)
    expect(await inbox.add({ ...given, signature: arrival().signature })).toEqual({ result: 'duplicate', id })
    await inbox.add(arrival({ suspicion: 'stale' }))
    expect(await inbox.add(arrival(), { leaseMs: 60_000 })).toMatchObject({
      claim: { token: expect.any(Number) },
    })
    const { entries } = await inbox.claim(ANY)
    await inbox.begin(entries, 60_000)
    await inbox.extend(entries, 60_000)
    await inbox.settle([{ claim: entries[0]!, end: { move: 'deadLetter', error: 'no' } }])
    expect(await inbox.act(id, 'retry', 'ann')).toEqual({ done: true })
    const { entries: again } = await inbox.claim(ANY)
    expect(await inbox.transact(again[0]!, { timeoutMs: 5_000 }, async () => ({ move: 'complete' }))).toBe(
      'committed',
    )
    expect(await inbox.show(id)).toMatchObject({ state: 'handled', history: [{ action: 'retry' }] })
    expect(await inbox.prune({ state: 'handled', limit: 10 })).toBe(0)
    const { rows } = await database.query(
      `SELECT has_schema_privilege('the receiver', '${schema}', 'CREATE') AS may_create`,
    )
    expect(rows).toEqual([{ may_create: false }])
  })

  it('is not damaged by a role or a database with other defaults', async () => {
    const schema = database.newSchema()
    const connectionString = await roleWithSettings(database, [
      'synchronous_commit = off',
      "default_transaction_isolation = 'serializable'",
      'search_path = nowhere',
    ])
    const inbox = database.inboxOn(schema, { connectionString })
    await inbox.open()
    const committedWith = await settingsOfCommits(database, schema, 'INSERT')
    await inbox.add(arrival())
    expect(await committedWith()).toEqual(['on read committed'])
  })

  describe('while another process makes it', () => {
    const whileOtherMigrates = async (
      schema: string,
      inbox: PostgresInbox,
      work: (opening: Promise<void>, finish: () => Promise<unknown>) => Promise<void>,
    ): Promise<void> => {
      const other = await database.pool.connect()
      try {
        await other.query('BEGIN')
        const lock = advisoryLock(schema, 'migration').toString()
        await other.query('SELECT pg_advisory_xact_lock($1)', [lock])
        const state = { hasOpened: false }
        const opening = inbox.open().finally(() => (state.hasOpened = true))
        opening.catch(() => {})
        const waiting = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
        const isWaiting = async () => (await database.query(waiting)).rowCount === 1
        for (let looks = 0; !state.hasOpened && !(await isWaiting()); looks++) await nextLook(looks)
        await work(opening, () => other.query('COMMIT'))
      } finally {
        other.release(true)
      }
    }

    it('is waited for, however short the role waits for locks', async () => {
      const schema = database.newSchema()
      const connectionString = await roleWithSettings(database, ["lock_timeout = '1ms'"])
      const inbox = database.inboxOn(schema, { connectionString })
      await whileOtherMigrates(schema, inbox, async (opening, finish) => {
        await finish()
        await opening
      })
    })

    it('is waited for, however short the statements of the role may be', async () => {
      const schema = database.newSchema()
      const connectionString = await roleWithSettings(database, ["statement_timeout = '500ms'"])
      const inbox = database.inboxOn(schema, { connectionString })
      const waitsLonger = `
        SELECT FROM pg_stat_activity
        WHERE wait_event = 'advisory' AND clock_timestamp() > query_start + interval '600 ms'`
      await whileOtherMigrates(schema, inbox, async (opening, finish) => {
        const hasWaited = async () => {
          for (let looks = 0; (await database.query(waitsLonger)).rowCount === 0; looks++)
            await nextLook(looks)
        }
        await Promise.race([hasWaited(), opening])
        await finish()
        await opening
      })
    })

    it('is not waited for by an inbox that is closed', async () => {
      const schema = database.newSchema()
      const inbox = database.inboxOn(schema)
      await whileOtherMigrates(schema, inbox, async (opening) => {
        await inbox.close()
        await expect(opening).rejects.toMatchObject({ code: 'ERR_CLOSED' })
      })
    })
  })

  it('is warned of on a server that may lose what it has committed', async () => {
    const log = collectedLog()
    await database.inboxOn(database.newSchema(), { logger: log }).open()
    expect(log.withCode('WARN_NOT_DURABLE')).toMatchObject([
      { fields: { settings: ['fsync', 'full_page_writes'] } },
    ])
  })
})
