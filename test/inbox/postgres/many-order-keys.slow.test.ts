import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase, withFakeClock } from '../../support/postgres-inbox.js'

const ANY = { eventTypes: 'any', limit: 1_000, leaseMs: 60_000 } as const

// Its table of locks has room for a few hundred.
describeWithDatabase(
  'a server with few locks',
  (database) => {
    it('stores and ends callbacks of many order keys at once', async () => {
      const schema = database.newSchema()
      const inboxes = [0, 1, 2].map(() => database.inboxOn(schema, { maxConnections: 4 }))
      await inboxes[0]!.open()
      const adding = inboxes.flatMap((inbox, which) =>
        Array.from({ length: 1_000 }, (_, key) => inbox.add(arrival({ orderKey: `${which} ${key}` }))),
      )
      const results = await Promise.allSettled(adding)
      expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
      const { entries } = await inboxes[0]!.claim(ANY)
      expect(entries).toHaveLength(1_000)
      await inboxes[0]!.begin(entries, 60_000)
      // As many as a worker with a high concurrency ends in one tick.
      const ends = entries.slice(0, 64).map((claim) => ({ claim, end: { move: 'complete' } as const }))
      expect((await inboxes[0]!.settle(ends)).size).toBe(64)
    }, 60_000)

    it('claims while many entries of different order keys are running for which no worker has a handler any more', async () => {
      const schema = database.newSchema()
      const pass = await withFakeClock(database, schema)
      const [old, next] = [0, 1].map(() => database.inboxOn(schema, { maxConnections: 4 }))
      const keys = Array.from({ length: 1_000 }, (_, key) => `account ${key}`)
      await Promise.all(keys.map((orderKey) => old!.add(arrival({ type: 'a.b', orderKey }))))
      const { entries } = await old!.claim({ ...ANY, eventTypes: ['a.b'] })
      expect(entries).toHaveLength(keys.length)
      const { id } = await next!.add(arrival({ type: 'c.d' }))
      await next!.claim({ ...ANY, eventTypes: ['e.f'] })
      // After 8 minutes the types of the old worker do not count any more. The first claim learns what the time is.
      for (let minutes = 0; minutes < 8; minutes += 4) {
        await pass(4 * 60_000)
        for (let claims = 0; claims < 2; claims++) await next!.claim({ ...ANY, eventTypes: ['e.f'] })
      }
      expect((await next!.stats()).counts.running).toBeLessThan(keys.length)
      expect((await next!.claim({ ...ANY, eventTypes: ['c.d'] })).entries).toMatchObject([{ id }])
    }, 60_000)
  },
  ['fsync = off', 'max_locks_per_transaction = 10', 'max_connections = 20'],
)
