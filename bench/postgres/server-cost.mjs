import pg from 'pg'
import { PostgresInbox } from 'countersign/postgres'
import { empty, fill } from '../inbox/entries.mjs'
import { serverTime } from './server-time.mjs'

/**
 * What a handled callback with a body of so many bytes takes in the tables and indexes of the inbox, in the write-ahead log, and of
 * the processor time of the server, there for the storing and for the rest.
 */
export async function measureServerCost(server, { count, bodyBytes }) {
  const connectionString = await server.createDatabase()
  const inbox = new PostgresInbox({ connectionString, logger: false })
  const client = new pg.Client(connectionString)
  await Promise.all([inbox.open(), client.connect()])
  const seconds = { stored: 0, handled: 0 }
  const timed = async (step, work) => {
    const before = serverTime(server.pid)
    await work()
    seconds[step] += serverTime(server.pid) - before
  }
  try {
    const before = await used(client)
    for (let done = 0; done < count; done += 5_000) {
      const part = Math.min(5_000, count - done)
      await timed('stored', () => fill(inbox, part, { bodyBytes }))
      await timed('handled', () => empty(inbox, part))
      // As autovacuum does in the time that so many callbacks usually take to arrive.
      await client.query('VACUUM countersign.due')
    }
    const after = await used(client)
    return {
      tableBytes: (after.tables - before.tables) / count,
      logBytes: (after.log - before.log) / count,
      secondsStored: seconds.stored / count,
      secondsHandled: seconds.handled / count,
    }
  } finally {
    await Promise.all([inbox.close(), client.end()])
  }
}

async function used(client) {
  const { rows } = await client.query(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS log,
      (SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class
        WHERE relnamespace = 'countersign'::regnamespace AND relkind = 'r') AS tables`,
  )
  return rows[0]
}
