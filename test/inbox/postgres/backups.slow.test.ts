import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { arrival } from '../../support/arrivals.js'
import { itWhere } from '../../support/it-where.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { BATCH, handleBatch } from '../../support/postgres-pages.js'
import { QUICK_SETTINGS } from '../../support/postgres-server.js'
import { findProgram, postgresFolders, temporaryFolder } from '../../support/server-program.js'
import { until } from '../../support/until.js'

const PG_DUMP = findProgram('pg_dump', postgresFolders())
const PG_RESTORE = findProgram('pg_restore', postgresFolders())
const HANDLED = 10_000
const ANY = { eventTypes: 'any', limit: BATCH, leaseMs: 60_000, beginBelow: 1 } as const
/** More than the buffers between the server and a reader of pg_dump that does not read. */
const LARGE_BODY = 16 * 1_048_576

const SETTINGS = [...QUICK_SETTINGS, 'wal_level = logical', 'autovacuum_naptime = 1']

describeWithDatabase(
  'a PostgresInbox whose database is backed up or published',
  (database) => {
    itWhere(PG_DUMP !== undefined && PG_RESTORE !== undefined, 'pg_dump')(
      'goes on while pg_dump runs, with few more pages, and the dump has each entry in one state',
      async () => {
        const schema = database.newSchema()
        const inbox = database.inboxOn(schema)
        await inbox.open()
        const worker = new pg.Client(database.connectionString)
        await worker.connect()
        const live = () => handleBatch(worker, schema, inbox)
        for (let batches = 0; batches < 20; batches++) await live()
        const before = await live()
        await inbox.add(arrival({ body: Buffer.alloc(LARGE_BODY), suspicion: 'large' }))
        const file = join(temporaryFolder(), 'inbox.dump')
        const dump = spawn(PG_DUMP!, [
          '--format=custom',
          '--compress=0',
          `--schema=${schema}`,
          database.connectionString,
        ])
        // Nobody reads what it writes, so that it keeps its snapshot.
        await until(async () => (await database.query(DUMPING)).rowCount === 1)
        for (let handled = 0; handled < HANDLED; handled += BATCH) {
          await Promise.all(Array.from({ length: BATCH }, () => inbox.add(arrival())))
          const { entries } = await inbox.claim(ANY)
          await inbox.settle(entries.map((claim) => ({ claim, end: { move: 'complete' } })))
        }
        // After autovacuum has analysed a table, a call makes its plans anew, for which it reads some 200 pages of the catalog.
        const held = [await live(), await live(), await live()]
        expect((await database.query(DUMPING)).rowCount).toBe(1)
        expect(Math.min(...held.map(({ claim }) => claim))).toBeLessThan(3 * before.claim)
        expect(Math.min(...held.map(({ settle }) => settle))).toBeLessThan(3 * before.settle)
        await writtenTo(file, dump)
        await database.query(`ALTER SCHEMA ${schema} RENAME TO ${schema}_dumped`)
        const restore = spawn(PG_RESTORE!, ['--exit-on-error', '--dbname', database.connectionString, file], {
          stdio: 'ignore',
        })
        expect(await once(restore, 'close')).toEqual([0, null])
        const restored = database.inboxOn(schema)
        const { counts } = await restored.stats()
        expect(counts).toMatchObject({ handled: 21 * BATCH, quarantined: 1, stored: 0, running: 0 })
        expect((await restored.add(arrival())).result).toBe('stored')
        await worker.end()
      },
    )

    it('works with a publication of all tables, which has each entry and its end', async () => {
      const schema = database.newSchema()
      const inbox = database.inboxOn(schema)
      await inbox.open()
      await database.query(`CREATE PUBLICATION everything FOR ALL TABLES`)
      await database.query(`SELECT pg_create_logical_replication_slot('everything', 'pgoutput')`)
      const given = arrival({ orderKey: 'account 1' })
      await inbox.add(given)
      expect((await inbox.add(given)).result).toBe('duplicate')
      const { entries } = await inbox.claim(ANY)
      await inbox.settle(entries.map((claim) => ({ claim, end: { move: 'complete' } })))
      const { id } = await inbox.add(arrival({ suspicion: 'signed too long ago' }))
      expect(await inbox.act(id, 'discard', 'ann')).toEqual({ done: true })
      const { rows } = await database.query(CHANGES)
      const changes = rows.map(({ change }: { change: Buffer }) => String.fromCodePoint(change[0]!))
      const count = (kind: string) => changes.filter((change) => change === kind).length
      // Of both entries the entry, its content and its end; of the first one the unfinished row, and its copy.
      expect(count('I')).toBeGreaterThanOrEqual(8)
      expect(count('D')).toBeGreaterThanOrEqual(1)
      await database.query(`SELECT pg_drop_replication_slot('everything'); DROP PUBLICATION everything`)
    })
  },
  SETTINGS,
)

const DUMPING =
  "SELECT 1 FROM pg_stat_activity WHERE application_name = 'pg_dump' AND query LIKE 'COPY%contents%'"
const CHANGES = `SELECT data AS change FROM pg_logical_slot_get_binary_changes('everything', NULL, NULL,
  'proto_version', '1', 'publication_names', 'everything')`

async function writtenTo(file: string, { stdout }: ChildProcess): Promise<void> {
  await pipeline(stdout!, createWriteStream(file))
}
