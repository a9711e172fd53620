import type { VerifiedCallback } from '../../../src/callback/callback.js'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { addWithImpossible, arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'
import { watchedPool } from '../../support/watched-pool.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const

describeWithAnyDatabase('a PostgresInbox', (database) => {
  let schema: string
  const opened = async (): Promise<PostgresInbox> => {
    schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    return inbox
  }

  it('commits the arrivals of one tick together', async () => {
    const inbox = await opened()
    await Promise.all(Array.from({ length: 100 }, () => inbox.add(arrival())))
    const { rows } = await database.query(`SELECT DISTINCT xmin::text FROM ${schema}.entries`)
    expect(rows).toHaveLength(1)
  })

  it('recognises the repeats of one tick, whichever of them come first', async () => {
    const inbox = await opened()
    const [one, two] = [arrival(), arrival()]
    const ids = (await Promise.all([inbox.add(one), inbox.add(two)])).map(({ id }) => id)
    const signedAnew = { ...one, signature: arrival().signature }
    const fresh = arrival()
    const results = await Promise.all(
      [
        one,
        { ...arrival(), signature: one.signature },
        signedAnew,
        fresh,
        signedAnew,
        { ...two, signature: signedAnew.signature },
        one,
        fresh,
        two,
        { ...two, bodyHash: one.bodyHash, signature: arrival().signature },
      ].map((each) => inbox.add(each)),
    )
    expect(results).toMatchObject([
      { result: 'duplicate', id: ids[0] },
      { result: 'quarantined', why: 'replay' },
      { result: 'duplicate', id: ids[0] },
      { result: 'stored' },
      { result: 'duplicate', id: ids[0] },
      { result: 'quarantined', why: 'replay' },
      { result: 'duplicate', id: ids[0] },
      { result: 'duplicate', id: results[3]!.id },
      { result: 'duplicate', id: ids[1] },
      { result: 'quarantined', why: 'conflict' },
    ])
    const copies = async (id: string) => (await inbox.show(id))!.copies
    expect(await Promise.all([...ids, results[3]!.id].map(copies))).toEqual([4, 1, 1])
    expect(await inbox.add({ ...two, signature: signedAnew.signature })).toMatchObject({
      result: 'duplicate',
    })
  })

  it('sends no more statements for many repeats than for one', async () => {
    const { pool, statements } = watchedPool(database.connectionString)
    schema = database.newSchema()
    const inbox = database.inboxOn(schema, { connectionString: undefined, pool })
    const arrivals = Array.from({ length: 40 }, () => arrival())
    const statementsFor = async (repeats: typeof arrivals) => {
      const before = statements.length
      const results = await Promise.all(repeats.map((each) => inbox.add(each)))
      expect(new Set(results.map(({ result }) => result))).toEqual(new Set(['duplicate']))
      return statements.length - before
    }
    await Promise.all(arrivals.map((each) => inbox.add(each)))
    await inbox.stats()
    const forOne = await statementsFor(arrivals.slice(0, 1))
    expect(await statementsFor(arrivals)).toBe(forOne)
    const signedAnew = arrivals.map((each) => ({ ...each, signature: arrival().signature }))
    expect(await statementsFor(signedAnew.slice(1))).toBe(await statementsFor(signedAnew.slice(0, 1)))
    await inbox.close()
    await pool.end()
  })

  it('keeps what the arrivals of one tick do not have in common', async () => {
    const inbox = await opened()
    const common = { id: 'one', eventTypeName: 'a.b', callbackUrl: 'https://one.example/' }
    const otherType = { ...common, eventTypeName: 'a.c', id: 'a.c https://one.example/' }
    const callbacks: Partial<VerifiedCallback>[] = [
      { type: 'a.b', subscription: common, secretFingerprint: 'first' },
      { type: 'a.b', subscription: { ...common }, secretFingerprint: 'first' },
      { type: 'a.b', subscription: common, secretFingerprint: 'second' },
      { type: 'a.b', subscription: { ...common, id: 'two' }, secretFingerprint: 'second' },
      {
        type: 'a.b',
        subscription: { ...common, id: 'two', description: '"{NULL}\\' },
        secretFingerprint: 'second',
      },
      { type: 'a.c', subscription: otherType },
      { type: 'a.c', subscription: { ...otherType, callbackUrl: 'https://two.example/' } },
      { type: 'a.b', subscription: common, secretFingerprint: 'first' },
    ]
    const given = callbacks.map((own, index) => {
      const each = arrival({ body: 'x'.repeat(index), ...(index % 3 === 0 && { orderKey: `${index}` }) })
      return { ...each, callback: { ...each.callback, ...own, receivedAt: new Date(index * 1000) } }
    })
    await Promise.all(given.map((each) => inbox.add(each)))
    const { entries } = await inbox.claim(ANY)
    const stored = new Map(entries.map(({ callback }) => [callback.idempotencyKey, callback]))
    expect(given.map(({ callback }) => stored.get(callback.idempotencyKey))).toEqual(
      given.map(({ callback }) => callback),
    )
    expect(await inbox.add(given[4]!)).toMatchObject({ result: 'duplicate' })
    const { rows } = await database.query(`SELECT DISTINCT xmin::text FROM ${schema}.entries`)
    // One transaction for those with an order, and one for the others.
    expect(rows).toHaveLength(2)
  })

  it('does not let one arrival that cannot be stored fail the others', async () => {
    const inbox = await opened()
    expect(await addWithImpossible(inbox)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('keeps texts with U+0000, which PostgreSQL refuses', async () => {
    const inbox = await opened()
    const type = 'a\0b\u001ac\u001a0'
    const { id } = await inbox.add(arrival({ type, orderKey: '\0' }))
    const { entries } = await inbox.claim({ ...ANY, eventTypes: [type] })
    expect(entries[0]!.callback.type).toBe(type)
    await inbox.settle([{ claim: entries[0]!, end: { move: 'deadLetter', error: 'not\0so' } }])
    expect(await inbox.show(id)).toMatchObject({ eventType: type, reason: 'not\0so' })
    expect((await inbox.list({ reason: '\0S', eventType: type })).entries).toHaveLength(1)
  })
})
