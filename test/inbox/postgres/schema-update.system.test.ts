import { randomBytes } from 'node:crypto'
import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/inbox/postgres/migrations.js'
import { sqlOf } from '../../../src/inbox/postgres/schema.js'
import { migrationSql } from '../../../src/postgres.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { settle } from '../../support/settle.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const VERSION_1 = MIGRATIONS.slice(0, 1)
/** What `grantStatements` returned for version 1. */
const grantsOfVersion1 = (role: string, schema: string) => `
  GRANT USAGE ON SCHEMA ${schema} TO ${role};
  GRANT SELECT ON ${schema}.schema_version TO ${role};
  GRANT SELECT, INSERT, UPDATE, DELETE ON
    ${schema}.entries, ${schema}.signatures, ${schema}.history, ${schema}.deleted, ${schema}.handled_types TO ${role};
  GRANT USAGE ON SEQUENCE ${schema}.entries_id TO ${role};
  GRANT EXECUTE ON FUNCTION ${schema}.now_ms() TO ${role};`

describeWithDatabase('a schema of version 1, which had neither attempts nor headers', (database) => {
  // The statements of the code for version 1. It goes on with them while other processes are updated.
  const add = async (schema: string, state: string) => {
    const { rows } = await database.query(
      `INSERT INTO ${schema}.entries (state, known, due_at, due_set_at, ready, event_type, idempotency_key, key_hash, body_hash,
        signature, signed_at, received_at, finished_at, subscribed_type, callback_url, secret_fingerprint, body)
      VALUES ($1, true, CASE WHEN $1 = 'stored' THEN 1 END, 1, $1 = 'stored', 'a', 'key', $2, '', $2, 1, 1,
        CASE WHEN $1 <> 'stored' THEN 2 END, 'a', 'https://partner.example.com/', '', '{}') RETURNING id`,
      [state, randomBytes(16)],
    )
    return String((rows as { id: unknown }[])[0]!.id)
  }
  const claim = (schema: string, id: string) =>
    database.query(
      `UPDATE ${schema}.entries SET state = 'running', due_at = NULL, lease_until = 1, token = token + 1 WHERE id = $1`,
      [id],
    )
  const begin = (schema: string, id: string) =>
    database.query(
      `UPDATE ${schema}.entries SET attempts = attempts + 1, begun_by = token WHERE id = $1 AND state = 'running'`,
      [id],
    )
  const retry = (schema: string, id: string) =>
    database.query(
      `WITH made_due AS (
        UPDATE ${schema}.entries SET state = 'stored', due_at = 1, due_set_at = 1, ready = true, attempts = 0,
          replayed = true, finished_at = NULL WHERE id = $1
      )
      INSERT INTO ${schema}.history (entry_id, at, action, person) VALUES ($1, 1, 'retry', 'ann')`,
      [id],
    )

  it('is brought up to date with what it holds', async () => {
    const schema = database.newSchema()
    await database.query(sqlOf(VERSION_1, schema))
    const ids = [await add(schema, 'stored'), await add(schema, 'dead'), await add(schema, 'handled')]
    const inbox = database.inboxOn(schema)
    await inbox.open()
    expect((await inbox.list({})).map(({ id, state }) => [id, state])).toEqual([
      [ids[0], 'stored'],
      [ids[1], 'dead'],
      [ids[2], 'handled'],
    ])
    const entry = (await inbox.show(ids[1]!))!
    expect(entry).toMatchObject({ attemptHistory: [], history: [] })
    expect([entry.headers, entry.bodyId, entry.traceContext]).toEqual([undefined, undefined, undefined])
    await inbox.act(ids[1]!, 'discard', 'ann')
    expect(await inbox.act(ids[1]!, 'undo', 'ann')).toEqual({ done: true })
  })

  it('is used by processes of version 1 after the update, which record no attempts', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    const id = await add(schema, 'stored')
    const [own] = (await inbox.claim(ANY)).entries
    await inbox.begin([own!], 1)
    await claim(schema, id)
    await begin(schema, id)
    const [again] = (await inbox.claim({ ...ANY, interrupted: true })).entries
    expect(again).toMatchObject({ id, attempt: 3 })
    await inbox.begin([again!], 60_000)
    await settle(inbox, again!, { move: 'complete' })
    const results = async () =>
      (await inbox.show(id))!.attemptHistory.map(({ number, result }) => [number, result])
    expect(await results()).toEqual([
      [2, 'interrupted'],
      [3, 'handled'],
    ])
    await retry(schema, id)
    const [third] = (await inbox.claim(ANY)).entries
    await inbox.begin([third!], 60_000)
    expect(await results()).toEqual([
      [2, 'interrupted'],
      [1, 'handled'],
      [1, 'running'],
    ])
  })

  it('has decisions of version 1, which cannot be taken back', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    const id = await add(schema, 'dead')
    await inbox.act(id, 'discard', 'ann')
    await inbox.act(id, 'undo', 'ann')
    await retry(schema, id)
    expect(await inbox.act(id, 'undo', 'ann')).toMatchObject({ done: false, code: 'state' })
  })

  it('is not updated while a long transaction uses a table, so that callbacks do not wait for its end', async () => {
    const schema = database.newSchema()
    await database.query(sqlOf(VERSION_1, schema))
    const reader = await database.pool.connect()
    await reader.query(`BEGIN; SELECT FROM ${schema}.entries`)
    const inbox = database.inboxOn(schema)
    const busy = { code: 'ERR_INBOX_BUSY', message: expect.stringContaining('lock timeout') }
    await expect(inbox.open()).rejects.toMatchObject(busy)
    await reader.query('COMMIT')
    reader.release()
    await inbox.open()
  })

  it('that a running process finds after a failover is named in the error, and is updated without a restart', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    // A standby that lacked the later migrations has become the primary server.
    await database.query(`DROP SCHEMA ${schema} CASCADE`)
    await database.query(sqlOf(VERSION_1, schema))
    const tooOld = {
      code: 'ERR_INBOX_FORBIDDEN',
      message: expect.stringContaining('countersign inbox migrate'),
    }
    await expect(inbox.add(arrival())).rejects.toMatchObject(tooOld)
    await expect(inbox.search({ bodyId: 'transfer 1' })).rejects.toMatchObject(tooOld)
    await database.query(migrationSql(schema))
    expect((await inbox.add(arrival())).result).toBe('stored')
  })

  it('is refused by this version until its owner has updated it, and used by version 1 until then', async () => {
    const schema = database.newSchema()
    await database.query(`CREATE ROLE updating LOGIN`)
    await database.query(sqlOf(VERSION_1, schema))
    await database.query(grantsOfVersion1('updating', schema))
    const { pathname } = new URL(database.connectionString)
    const connectionString = database.server.connectionString(pathname.slice(1), 'updating')
    const inbox = database.inboxOn(schema, { connectionString })
    const refused = {
      code: 'ERR_INBOX_FORBIDDEN',
      message: expect.stringMatching(`is of version 1, version ${SCHEMA_VERSION} is needed`),
    }
    await expect(inbox.open()).rejects.toMatchObject(refused)
    await expect(inbox.add(arrival())).rejects.toMatchObject(refused)
    await add(schema, 'stored')
    await database.query(migrationSql(schema))
    // The grants of version 1 are enough: there are no new tables, and every role may call a new function.
    await inbox.open()
    expect((await inbox.add({ ...arrival(), bodyId: 'transfer 1' })).result).toBe('stored')
    const { id } = (await inbox.search({ bodyId: 'transfer 1' })).entries[0]!
    expect(await inbox.act(id, 'discard', 'ann', { reason: 'no' })).toEqual({ done: true })
    expect(await inbox.act(id, 'undo', 'ann')).toEqual({ done: true })
  })
})
