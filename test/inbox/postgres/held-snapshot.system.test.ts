import pg from 'pg'
import { SUBSCRIPTION } from '../../cli/configured.js'
import { countersign, Sandbox } from '../../cli/program.js'
import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'
import { BATCH, handleBatch } from '../../support/postgres-pages.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const HANDLED = 2_000
const START = Date.UTC(2026, 10, 3, 9, 14, 27)

describeWithAnyDatabase('a PostgresInbox while another session holds a snapshot', (database) => {
  it('ends entries with as many pages as before, although no dead row can be removed', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    const [worker, reader] = [await connected(database), await connected(database)]
    const live = () => handleBatch(worker, schema, inbox)
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

  it('looks through entries whose leases would have ended only once in a while', async () => {
    const schema = database.newSchema()
    const advance = await withFakeClock(database, schema, START)
    const inbox = database.inboxOn(schema)
    await inbox.open()
    const [worker, reader] = [await connected(database), await connected(database)]
    await handleBatch(worker, schema, inbox)
    await reader.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM ${schema}.entries`)
    for (let handled = 0; handled < HANDLED; handled += BATCH) await handleBatch(worker, schema, inbox)
    await advance(61_000)
    const whole = await handleBatch(worker, schema, inbox)
    const later = await handleBatch(worker, schema, inbox, START + 61_000)
    // The dead rows of the entries that were claimed fill some 100 pages.
    expect(later.claim).toBeLessThan(whole.claim - 50)
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
