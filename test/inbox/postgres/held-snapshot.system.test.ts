import pg from 'pg'
import { SCHEMA_VERSION } from '../../../src/inbox/postgres/migrations.js'
import { textKey } from '../../../src/inbox/postgres/text-key.js'
import { arrival } from '../../support/arrivals.js'
import { SUBSCRIPTION } from '../../cli/configured.js'
import { countersign, Sandbox } from '../../cli/program.js'
import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const BATCH = 32
const HANDLED = 2_000
const LAST = `${SCHEMA_VERSION}, 1000`

describeWithAnyDatabase('a PostgresInbox while another session holds a snapshot', (database) => {
  it('ends entries with as many pages as before, although no dead row can be removed', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    const [worker, reader] = [await connected(database), await connected(database)]
    const live = () => handleBatch(worker, schema, () => addBatch(inbox))
    // The session keeps the plans of its first calls, which are made for tables that are almost empty.
    const before = await live()
    await reader.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM ${schema}.entries`)
    for (let handled = 0; handled < HANDLED; handled += BATCH) await live()
    const held = await live()
    // One dead row among those that wait and one among those that run.
    expect(held.claim - before.claim).toBeLessThan(2 * HANDLED)
    expect(held.settle).toBeLessThan(3 * before.settle)
    await Promise.all([worker.end(), reader.end()])
  })

  it('says who holds it once it is a minute old, and how many dead rows there are', async () => {
    const schema = database.newSchema()
    const advance = await withFakeClock(database, schema, Date.now())
    const inbox = database.inboxOn(schema)
    await inbox.open()
    const holder = await connected(database)
    await holder.query(
      `SET application_name = 'report'; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM ${schema}.entries`,
    )
    expect((await inbox.stats()).oldestSnapshot).toBeUndefined()
    await advance(120_000)
    const { deadRows, oldestSnapshot } = await inbox.stats()
    expect(deadRows).toBeGreaterThanOrEqual(0)
    expect(oldestSnapshot?.holder).toMatch(/^session "\d+ report"$/)
    expect(Math.abs(oldestSnapshot!.since!.getTime() - Date.now())).toBeLessThan(60_000)
    const postgres = { connectionString: database.connectionString, schema }
    const config = `export default ${JSON.stringify({ subscriptions: [SUBSCRIPTION], inbox: { postgres } })}`
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
    const { stdout } = await countersign(['inbox', 'stats'], { cwd })
    expect(stdout).toMatch(/^\d+ dead rows are kept by the snapshot of session "\d+ report", since 2/m)
    await holder.query('COMMIT')
    expect((await inbox.stats()).oldestSnapshot).toBeUndefined()
    await holder.end()
  })
})

async function connected({ connectionString }: { readonly connectionString: string }): Promise<pg.Client> {
  const client = new pg.Client(connectionString)
  await client.connect()
  return client
}

async function addBatch(inbox: { add(given: ReturnType<typeof arrival>): Promise<unknown> }): Promise<void> {
  await Promise.all(Array.from({ length: BATCH }, () => inbox.add(arrival())))
}

/** How many pages each of the functions reads for a batch of new entries. */
async function handleBatch(client: pg.Client, schema: string, add: () => Promise<void>) {
  await add()
  const call = (sql: string) => pagesOf(client, `SELECT * FROM ${schema}.${sql}`)
  const claim = await call(
    `claim_entries(ARRAY[${textKey('transfers.book-completed')}], ${BATCH}, 60000, false, 99, ${LAST})`,
  )
  const { rows } = await client.query<{ ids: string; tokens: string }>(
    `SELECT array_agg(id)::text AS ids, array_agg(token)::text AS tokens FROM ${schema}.due WHERE state = 'running'`,
  )
  const held = `'${rows[0]!.ids}', '${rows[0]!.tokens}'`
  const all = (value: string) => `array_fill(${value}, ARRAY[${BATCH}])`
  const ends = `${all("'handled'::text")}, ${all('NULL::bigint')}, ${all('NULL::text')}, ${all('false')}, ${all("'handled'::text")}`
  const settle = await call(`settle_entries(${held}, ${ends}, ${all('NULL::text')}, 1, ${LAST})`)
  return { claim, settle }
}

async function pagesOf(client: pg.Client, sql: string): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`,
  )
  const { Plan: plan } = rows[0]!['QUERY PLAN'][0]
  return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
}
