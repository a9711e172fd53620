import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { EntryId } from '../../../src/callback/callback.js'
import type { Arrival } from '../../../src/inbox/engine.js'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { nextLook } from '../../support/until.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const COMPLETE = { move: 'complete' } as const

describeWithDatabase('an arrival whose entry is locked', (database) => {
  const copies = async (inbox: PostgresInbox, id: EntryId) => (await inbox.show(id))!.copies
  const signature = () => arrival().signature

  /** An entry whose transactional handler has ended, and whose COMMIT does not. */
  const inCommit = async (given: Arrival) => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema, { busyTimeoutMs: 10_000 })
    const { id } = await inbox.add(given)
    await database.query(`
      CREATE TABLE ${schema}_ledger (entry text);
      CREATE FUNCTION ${schema}_wait() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_advisory_xact_lock(${Number(id)}); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON ${schema}_ledger DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION ${schema}_wait()`)
    const holder = await database.pool.connect()
    await holder.query(`SELECT pg_advisory_lock(${Number(id)})`)
    const { entries } = await inbox.claim(ANY)
    await inbox.begin(entries, 60_000)
    const handling = inbox.transact(entries[0]!, { timeoutMs: 60_000 }, async (transaction) => {
      await transaction.query(`INSERT INTO ${schema}_ledger VALUES ('1')`)
      return COMPLETE
    })
    const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    for (let looks = 0; (await database.query(waits)).rowCount !== 1; looks++) await nextLook(looks)
    const end = async () => {
      await holder.query(`SELECT pg_advisory_unlock(${Number(id)})`)
      holder.release()
      expect(await handling).toBe('committed')
    }
    return { inbox, schema, id, end }
  }

  it.each([
    ['without an order', undefined],
    ['with one', 'account 1'],
  ])('by the COMMIT of its handler is recognised and counted: %s', async (_what, orderKey) => {
    const given = arrival({ orderKey })
    const { inbox, id, end } = await inCommit(given)
    expect(await inbox.add(given)).toEqual({ result: 'duplicate', id })
    const signedAnew = { ...given, signature: signature() }
    expect(await inbox.add(signedAnew)).toEqual({ result: 'duplicate', id })
    expect(await inbox.add(signedAnew)).toEqual({ result: 'duplicate', id })
    expect(await inbox.add({ ...given, bodyHash: signature(), signature: signature() })).toMatchObject({
      result: 'quarantined',
      why: 'conflict',
    })
    expect(await inbox.add({ ...arrival({ orderKey }), signature: given.signature })).toMatchObject({
      result: 'quarantined',
      why: 'replay',
    })
    await end()
    expect(await copies(inbox, id)).toBe(3)
  })

  it('is stored if another one of its batch is locked', async () => {
    const given = arrival()
    const { inbox, id, end } = await inCommit(given)
    const added = await Promise.all(
      [given, arrival(), { ...given, signature: signature() }].map((each) => inbox.add(each)),
    )
    expect(added).toMatchObject([
      { result: 'duplicate', id },
      { result: 'stored' },
      { result: 'duplicate', id },
    ])
    await end()
    expect(await copies(inbox, id)).toBe(2)
  })

  it('by a transaction of an operator in quarantine is recognised and counted', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    const suspect = arrival({ suspicion: 'signed too long ago' })
    const { id } = await inbox.add(suspect)
    const operator = new pg.Client(database.connectionString)
    await operator.connect()
    await operator.query(`BEGIN; SELECT 1 FROM ${schema}.entries WHERE id = ${Number(id)} FOR NO KEY UPDATE`)
    expect(await inbox.add({ ...suspect, key: randomUUID() })).toEqual({ result: 'duplicate', id })
    await operator.query('ROLLBACK')
    await operator.end()
    expect(await copies(inbox, id)).toBe(1)
  })
})
