import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { PostgresInbox } from 'countersign/postgres'
import { CALLERS, empty, end, fill } from '../inbox/entries.mjs'
import { serverTime } from './server-time.mjs'

/** The headers of a callback behind a gateway, of which two are its own. */
const headers = () => ({
  pairs: [
    ['Host', 'partner.example.com'],
    ['User-Agent', 'Bank-Callbacks/3.2 (+https://bank.example.com/docs)'],
    ['Accept', '*/*'],
    ['Accept-Encoding', 'gzip, deflate'],
    ['Content-Type', 'application/json; charset=utf-8'],
    ['Content-Length', '300'],
    ['X-Forwarded-For', '203.0.113.7'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Request-Id', randomUUID()],
    ['Traceparent', `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`],
    ['Via', '1.1 gateway.bank.example.com'],
  ],
  isCut: false,
})

/**
 * What a handled callback with a body of so many bytes takes in the tables and indexes of the inbox, in the write-ahead log, and of
 * the processor time of the server, there for the storing and for the rest. And how many statements a batch takes. `begin`: handlers of
 * the same process are free, and need no claim.
 */
export async function measureServerCost(server, { count, bodyBytes, begin }) {
  const connectionString = await server.createDatabase()
  const pool = new pg.Pool({ connectionString, max: 14 })
  // The server may end before it has closed the last connections.
  pool.on('error', () => {})
  let statements = 0
  pool.on('connect', (each) => {
    const query = each.query.bind(each)
    each.query = (...given) => {
      statements++
      return query(...given)
    }
  })
  const inbox = new PostgresInbox({ pool, logger: false })
  const client = new pg.Client(connectionString)
  await Promise.all([inbox.open(), client.connect()])
  const seconds = { stored: 0, handled: 0 }
  const timed = async (step, work) => {
    const before = serverTime(server.pid)
    await work()
    seconds[step] += serverTime(server.pid) - before
  }
  try {
    // Until then the process has not learned which headers are common, and the inbox not which types are asked for.
    await fill(inbox, CALLERS, { bodyBytes, headers })
    await empty(inbox, CALLERS)
    statements = 0
    const before = await used(client)
    for (let done = 0; done < count; done += 5_000) {
      const part = Math.min(5_000, count - done)
      let claims
      await timed('stored', async () => (claims = await fill(inbox, part, { bodyBytes, headers, begin })))
      await timed('handled', () => (begin ? end(inbox, claims) : empty(inbox, part)))
      // As autovacuum does in the time that so many callbacks usually take to arrive.
      await client.query('VACUUM countersign.due')
    }
    const after = await used(client)
    return {
      tableBytes: (after.tables - before.tables) / count,
      logBytes: (after.log - before.log) / count,
      statementsPerBatch: (statements / count) * CALLERS,
      secondsStored: seconds.stored / count,
      secondsHandled: seconds.handled / count,
    }
  } finally {
    await Promise.all([inbox.close(), client.end()])
    await pool.end()
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
