// A table whose rows are updated several times and then deleted grows for ever if dead rows are not reused. A full run:
// SOAK_ENTRIES=1000000 TESTS=slow npx jest test/inbox/postgres/soak
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { manyEntries } from '../../support/postgres-rows.js'
import { describeWithDatabase, type TestDatabase } from '../../support/postgres-inbox.js'

const ENTRIES = Number(process.env['SOAK_ENTRIES'] ?? 20_000)
const ROUND = Math.min(5_000, ENTRIES / 10)
const CLAIM = { eventTypes: ['transfers.book-completed'], limit: 100, leaseMs: 60_000 } as const
const SETTINGS = ['fsync = off', 'full_page_writes = off', 'autovacuum_naptime = 1s']

describeWithDatabase(
  'a PostgresInbox that has run for long',
  (database) => {
    it('keeps the size of its tables bounded', async () => {
      const schema = database.newSchema()
      const inbox = database.inboxOn(schema, { retentionMs: 1, discardedRetentionMs: 1 })
      const sizes: number[] = []
      for (let done = 0; done < ENTRIES; done += ROUND) {
        await addMany(inbox, ROUND)
        await handleAll(inbox)
        // A later time that the service has signed, or nothing may be deleted.
        await addMany(inbox, 1)
        while ((await inbox.prune({ state: 'handled', limit: 1_000 })) > 0);
        sizes.push(await sizeOf(database, schema))
      }
      const { rows } = await database.query(`SELECT count(*)::integer AS left FROM ${schema}.entries`)
      process.stderr.write(
        `${ENTRIES} entries: ${sizes.map((size) => `${(size / 1_048_576).toFixed(1)} MiB`).join(', ')}; ` +
          `${rows[0].left} left\n`,
      )
      expect(rows[0].left).toBeLessThan(ROUND)
      const early = Math.max(...sizes.slice(0, 5))
      expect(sizes.at(-1)).toBeLessThan(2 * early)
    }, 3_600_000)

    it('claims as fast with many handled entries as with few', async () => {
      const [fewSchema, manySchema] = [database.newSchema(), database.newSchema()]
      const [few, many] = [database.inboxOn(fewSchema), database.inboxOn(manySchema)]
      await many.open()
      await database.query(manyEntries(manySchema, ENTRIES))
      const [fewMs, manyMs] = await medianClaimsMs(few, many)
      process.stderr.write(
        `a claim: ${fewMs.toFixed(2)} ms; with ${ENTRIES} handled: ${manyMs.toFixed(2)} ms\n`,
      )
      expect(manyMs).toBeLessThan(2 * fewMs + 2)
    }, 600_000)
  },
  SETTINGS,
)

async function addMany(inbox: PostgresInbox, count: number): Promise<void> {
  for (let added = 0; added < count; added += 500) {
    const adding = Array.from({ length: Math.min(500, count - added) }, () =>
      inbox.add(arrival({ signedAt: new Date() })),
    )
    await Promise.all(adding)
  }
}

async function handleAll(inbox: PostgresInbox): Promise<void> {
  for (;;) {
    const { entries } = await inbox.claim(CLAIM)
    if (entries.length === 0) return
    await inbox.begin(entries, 60_000)
    await inbox.settle(entries.map((claim) => ({ claim, end: { move: 'complete' } })))
  }
}

/** Claims from both by turns, so that other programs slow both down. */
async function medianClaimsMs(...inboxes: [PostgresInbox, PostgresInbox]): Promise<[number, number]> {
  for (const inbox of inboxes) await addMany(inbox, 1_000)
  const times: [number[], number[]] = [[], []]
  for (let i = 0; i < 40; i++) {
    const inbox = inboxes[i % 2]!
    const startedAt = performance.now()
    const { entries } = await inbox.claim({ ...CLAIM, limit: 20 })
    times[i % 2]!.push(performance.now() - startedAt)
    await inbox.settle(entries.map((claim) => ({ claim, end: { move: 'complete' } })))
  }
  return times.map((each) => each.toSorted((a, b) => a - b)[10]!) as [number, number]
}

async function sizeOf(database: TestDatabase, schema: string): Promise<number> {
  const { rows } = await database.query(
    `SELECT sum(pg_total_relation_size(oid))::float8 AS size FROM pg_class
    WHERE relnamespace = $1::regnamespace AND relkind = 'r'`,
    [schema],
  )
  return rows[0].size
}
