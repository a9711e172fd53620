import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'

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
  },
  ['fsync = off', 'max_locks_per_transaction = 10', 'max_connections = 20'],
)
