import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { findProgram, freePort, ServerProcess, temporaryFolder } from '../../support/server-program.js'

const ANY = { eventTypes: 'any', limit: 20, leaseMs: 60_000, beginBelow: 1 } as const
const PGBOUNCER = findProgram('pgbouncer')
if (!PGBOUNCER)
  process.stderr.write('tests with PgBouncer are skipped; to install it: apt-get install pgbouncer\n')

describeWithDatabase('behind PgBouncer in transaction mode', (database) => {
  const itWithPgBouncer = PGBOUNCER ? it : it.skip

  itWithPgBouncer('a PostgresInbox works on few connections that change with each transaction', async () => {
    const { port, stop } = await startPgBouncer(PGBOUNCER!, database.server.port)
    const connectionString = database.connectionString.replace(/:\d+\//, `:${port}/`)
    const schema = database.newSchema()
    const inboxes = [1, 2, 3].map(() => database.inboxOn(schema, { connectionString }))
    await Promise.all(inboxes.map((inbox) => inbox.open()))
    inboxes[0]!.watch(() => {})
    const given = Array.from({ length: 60 }, (_, index) =>
      arrival(index % 3 === 0 ? { orderKey: 'account 1' } : {}),
    )
    await Promise.all(given.map((each, index) => inboxes[index % 3]!.add(each)))
    let handled = 0
    const work = async (inbox: (typeof inboxes)[number]) => {
      while (handled < given.length) {
        const { entries } = await inbox.claim(ANY)
        expect(entries.every(({ begun }) => begun)).toBe(true)
        for (const claim of entries) {
          const result = await inbox.transact(claim, { timeoutMs: 5_000 }, async (transaction) => {
            await transaction.query('SELECT $1::text', ['a'])
            return { move: 'complete' }
          })
          expect(result).toBe('committed')
        }
        handled += entries.length
      }
    }
    await Promise.all(inboxes.map(work))
    const added = await inboxes[0]!.add(arrival(), { leaseMs: 60_000 })
    const claim = 'claim' in added ? added.claim : undefined
    expect((await inboxes[1]!.settle([{ claim: claim!, end: { move: 'complete' } }])).size).toBe(1)
    expect(await inboxes[0]!.stats()).toMatchObject({ counts: { stored: 0, running: 0, handled: 61 } })
    await Promise.all(inboxes.map((inbox) => inbox.close()))
    // Nothing of a transaction is left in the sessions that others use as well.
    const client = new pg.Client({ connectionString })
    await client.connect()
    const { rows } = await client.query(
      "SELECT current_setting('search_path') AS path, count(*)::int AS locks FROM pg_locks WHERE locktype = 'advisory'",
    )
    expect(rows).toEqual([{ path: '"$user", public', locks: 0 }])
    await client.end()
    await stop()
  })
})

async function startPgBouncer(
  program: string,
  serverPort: number,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const folder = temporaryFolder()
  const port = await freePort()
  const configuration = join(folder, 'pgbouncer.ini')
  writeFileSync(
    configuration,
    `[databases]
* = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 100
`.replace('* = host=127.0.0.1', '* = user=postgres host=127.0.0.1'),
  )
  chmodSync(folder, 0o755)
  const isRoot = process.getuid?.() === 0
  const args = [...(isRoot ? ['-u', 'postgres'] : []), configuration]
  const server = new ServerProcess(program, args, { cwd: folder })
  await server.ready(async () => {
    const client = new pg.Client(`postgres://postgres@127.0.0.1:${port}/postgres`)
    client.on('error', () => {})
    await client.connect()
    await client.end()
    return true
  })
  return { port, stop: () => server.stop('SIGKILL') }
}
