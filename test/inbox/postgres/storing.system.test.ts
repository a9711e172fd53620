import pg from 'pg'
import type { InboxEngine } from '../../../src/inbox/engine.js'
import { ENGINE, Inbox } from '../../../src/inbox/inbox.js'
import { storedHeaders } from '../../../src/inbox/stored-headers.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'
import { roleWithSettings, settingsOfCommits } from '../../support/postgres-role.js'
import { settle } from '../../support/settle.js'
import { nextLook } from '../../support/until.js'
import { watchedPool } from '../../support/watched-pool.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
/** Longer than the tests: nothing that waits for a lock gives it up. */
const PATIENT = { busyTimeoutMs: 60_000 }

describeWithAnyDatabase('storing callbacks in PostgreSQL', (database) => {
  /** An inbox on a pool that keeps the text of each statement. */
  const watched = async () => {
    const { pool, statements } = watchedPool(database.connectionString)
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, { pool })
    await inbox.open()
    const close = async () => {
      await inbox.close()
      await pool.end()
    }
    return { schema, inbox, statements, close }
  }
  /** Resolves once a transaction waits for another one. */
  const somebodyWaits = async () => {
    const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
    for (let looks = 0; (await database.query(waits)).rowCount === 0; looks++) await nextLook(looks)
  }
  const withoutNotify = (statements: readonly string[]) =>
    statements.filter((text) => !text.includes('NOTIFY'))

  it('takes one statement for new callbacks that arrive together, and no other one', async () => {
    const { inbox, statements, close } = await watched()
    statements.length = 0
    const results = await Promise.all(Array.from({ length: 100 }, () => inbox.add(arrival())))
    expect(new Set(results.map(({ result }) => result))).toEqual(new Set(['stored']))
    expect(new Set(results.map(({ id }) => id)).size).toBe(100)
    expect(withoutNotify(statements)).toHaveLength(1)
    await close()
  })

  it('records in that statement that handlers begin, and notifies nobody, as nothing is due', async () => {
    const { inbox, statements, close } = await watched()
    statements.length = 0
    const adding = Array.from({ length: 3 }, (_, index) =>
      inbox.add(arrival(), index === 1 ? undefined : { leaseMs: 60_000 }),
    )
    const added = await Promise.all(adding)
    expect(added.map((each) => 'claim' in each && each.claim?.id === each.id)).toEqual([true, false, true])
    expect((await inbox.claim(ANY)).entries.map(({ id }) => id)).toEqual([added[1]!.id])
    await inbox.add(arrival(), { leaseMs: 60_000 })
    await inbox.close()
    expect(statements.filter((text) => text.includes('store_new'))).toHaveLength(2)
    expect(statements.filter((text) => text.includes('NOTIFY'))).toHaveLength(1)
    await close()
  })

  it('tries a repeat as a new callback once', async () => {
    const { inbox, statements, close } = await watched()
    const given = arrival()
    await inbox.add(given)
    statements.length = 0
    expect((await inbox.add(given)).result).toBe('duplicate')
    expect(statements.filter((text) => text.includes('store_new'))).toHaveLength(1)
    await close()
  })

  it('does not hold up new callbacks while one of them waits for the transaction of somebody else', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, PATIENT)
    await inbox.open()
    const client = new pg.Client(database.connectionString)
    await client.connect()
    const twin = arrival()
    await client.query(
      `BEGIN; INSERT INTO ${schema}.entries (kind, signed_at, signature) VALUES (1, ${Number(twin.callback.signedAt)},
        '${Buffer.from(twin.signature, 'base64').subarray(0, 16).toString('hex')}')`,
    )
    const adding = inbox.add(twin)
    await somebodyWaits()
    expect((await inbox.add(arrival())).result).toBe('stored')
    await client.query('ROLLBACK')
    expect((await adding).result).toBe('stored')
    await client.end()
  })

  it.each([
    ["default_transaction_isolation = 'serializable'"],
    ["default_transaction_isolation = 'repeatable read'"],
    ["default_transaction_isolation = 'read committed'"],
  ])('commits to the disk and reads what others have committed, for a role with %s', async (isolation) => {
    const schema = database.newSchema()
    const settings = ['synchronous_commit = off', 'search_path = nowhere', isolation]
    const connectionString = await roleWithSettings(database, settings)
    const inbox = database.inboxOn(schema, { connectionString })
    await inbox.open()
    const committedWith = await settingsOfCommits(database, schema, 'INSERT')
    const given = arrival()
    const { id } = await inbox.add(given)
    expect(await inbox.add(given)).toEqual({ result: 'duplicate', id })
    expect(await committedWith()).toEqual(['on read committed'])
  })

  it('does not remember the signature of a callback whose key is known, if the callback has another body', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    const given = arrival()
    await inbox.add(given)
    const conflict = { ...given, ...arrival({ body: '{"Id":"other"}' }), key: given.key }
    conflict.callback = { ...conflict.callback, idempotencyKey: given.callback.idempotencyKey }
    expect(await inbox.add(conflict)).toMatchObject({ result: 'quarantined', why: 'conflict' })
    const { rows } = await database.query(
      `SELECT count(*)::integer AS count FROM ${schema}.entries WHERE kind <= 1`,
    )
    expect(rows).toEqual([{ count: 1 }])
  })

  it('stores a callback that a transaction has deleted meanwhile as one that may be a replay', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, PATIENT)
    const given = arrival()
    const { id } = await inbox.add(given)
    const client = new pg.Client(database.connectionString)
    await client.connect()
    await client.query(
      `BEGIN; DELETE FROM ${schema}.entries WHERE id = ${id}; DELETE FROM ${schema}.due;
      INSERT INTO ${schema}.deleted VALUES (1, ${Number(given.callback.signedAt)})`,
    )
    const adding = inbox.add(given)
    await somebodyWaits()
    await client.query('COMMIT')
    expect(await adding).toMatchObject({ result: 'quarantined', why: 'forgotten' })
    expect((await inbox.claim(ANY)).entries).toEqual([])
    await client.end()
  })

  it('says what to do if the sequence is behind the ids, as after logical replication', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    // More than the ids that the tries of one callback take.
    await Promise.all(Array.from({ length: 100 }, () => inbox.add(arrival())))
    await database.query(`SELECT setval('${schema}.entries_id', 1)`)
    const message = expect.stringContaining('Set it to the largest id of entries with setval()')
    await expect(inbox.add(arrival())).rejects.toMatchObject({ message })
    await database.query(`SELECT setval('${schema}.entries_id', max(id)) FROM ${schema}.entries`)
    expect((await inbox.add(arrival())).result).toBe('stored')
  })

  it('keeps the headers that callbacks have in common once, and shows each callback with its own', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    const headersOf = (number: number) => ({
      pairs: [
        ['User-Agent', 'a'.repeat(200)],
        ['X-Request-Id', String(number)],
        ['Accept', '*/*'],
      ] as const,
      isCut: number % 2 === 0,
    })
    const arrivals = Array.from({ length: 40 }, (_, number) => ({ ...arrival(), headers: headersOf(number) }))
    const add = (some: typeof arrivals) => Promise.all(some.map((each) => inbox.add(each)))
    const added = [...(await add(arrivals.slice(0, 32))), ...(await add(arrivals.slice(32)))]
    for (const [number, { id }] of added.entries())
      expect((await inbox.show(id))?.headers).toEqual(headersOf(number))
    const engine: InboxEngine = Reflect.get(Inbox.prototype, ENGINE, inbox)
    const [copied] = await engine.copying!.read([Number(added[39]!.id)])
    expect(copied!.headers).toBe(storedHeaders(headersOf(39)))
    const { rows } = await database.query(
      `SELECT max(length(contents.headers)) AS longest, count(*) FROM ${schema}.contents JOIN ${schema}.entries USING (id)
      GROUP BY source ORDER BY min(id)`,
    )
    expect(rows).toEqual([
      { longest: expect.any(Number), count: '32' },
      { longest: JSON.stringify([1, 'X-Request-Id', '39', 1, true]).length, count: '8' },
    ])
  })

  it('keeps no headers of repeats, which anyone can send with any headers who has captured a delivery', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    const captured = arrival()
    for (let number = 0; number < 100; number++) {
      const pairs = [['X-Any', String(Math.floor(number / 33)).repeat(500)]] as const
      await inbox.add({ ...captured, headers: { pairs, isCut: false } })
    }
    const { rows } = await database.query(`SELECT count(*) FROM ${schema}.sources`)
    expect(rows).toEqual([{ count: '1' }])
  })

  it('finds what callbacks have in common among new ones only, because the headers of a repeat are not signed', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    const usual = { pairs: [['User-Agent', 'a'.repeat(200)]], isCut: false } as const
    const genuine = Array.from({ length: 34 }, () => ({ ...arrival(), headers: usual }))
    await Promise.all(genuine.slice(0, 33).map((each) => inbox.add(each)))
    const captured = {
      ...genuine[0]!,
      headers: { pairs: [['X-Any', 'b'.repeat(200)]], isCut: false } as const,
    }
    // Of copies in one batch only the first is tried.
    for (let copies = 0; copies < 40; copies++) await inbox.add(captured)
    const { id } = await inbox.add(genuine[33]!)
    const { rows } = await database.query(`SELECT headers FROM ${schema}.contents WHERE id = ${id}`)
    expect(rows).toEqual([{ headers: '[1]' }])
  })

  it('writes bodies and headers once, whatever becomes of the entry, and deletes them with it', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, { retentionMs: 1 })
    const { id } = await inbox.add(arrival())
    const versions = async () => (await database.query(`SELECT id, ctid, xmin FROM ${schema}.contents`)).rows
    const stored = await versions()
    expect(stored).toHaveLength(1)
    const [claim] = (await inbox.claim(ANY)).entries
    await inbox.begin([claim!], 60_000)
    await settle(inbox, claim!, { move: 'complete' })
    expect(await versions()).toEqual(stored)
    // An entry is deleted once a later one shows that its time is over.
    await inbox.add(arrival())
    const later = (await inbox.claim(ANY)).entries[0]!
    await database.query(`UPDATE ${schema}.entries SET signed_at = 1 WHERE id = ${id};
      UPDATE ${schema}.ended SET at = 1 WHERE id = ${id}`)
    expect(await inbox.prune({ state: 'handled', limit: 10 })).toBe(1)
    expect(await versions()).toMatchObject([{ id: later.id }])
  })
})
