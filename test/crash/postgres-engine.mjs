// PostgreSQL for the crash test: a server for each step, because the server is killed as well, with a table that the
// transactional handler writes to.
import pg from 'pg'
import { loadSupport } from '../support/load-support.mjs'

const WRITE_ROW = 'INSERT INTO ledger (key) VALUES ($1)'
const COMMITTING_CALL = /\.(store_new|claim_entries|settle_entries)\(/
// The server keeps what it has committed, as a real one does.
const DURABLE = ['fsync = on', 'full_page_writes = on', 'synchronous_commit = on']

export const postgres = {
  /** Long enough for a server that starts again on a busy machine. */
  limits: { leaseMs: 3_000, handlerTimeoutMs: 2_000, concurrency: 4 },

  async prepare() {
    const { PostgresServer } = loadSupport('postgres-server.ts')
    const server = await PostgresServer.start(DURABLE)
    const connectionString = await server.createDatabase()
    await server.query('CREATE TABLE ledger (key text NOT NULL)', [], connectionString)
    return {
      settings: { connectionString, busyTimeoutMs: 3_000, maxConnections: 8 },
      database: server,
      async ledgerRows() {
        const { rows } = await server.query('SELECT key FROM ledger', [], connectionString)
        return rows.map(({ key }) => key)
      },
      remove: () => server.stop(),
    }
  },

  async create(settings) {
    const { PostgresInbox } = await import('countersign/postgres')
    return new PostgresInbox({ ...settings, logger: false })
  },

  writeRow: (transaction, key) => transaction.query(WRITE_ROW, [key]),

  /** A function that kills the server of a process id. It is made beforehand, so that it strikes at once. */
  databaseKiller: () => loadSupport('kill-postgres.ts').killPostgres,

  strikeAtCommits(strike) {
    const { query } = pg.Client.prototype
    const wroteRow = new WeakSet()
    pg.Client.prototype.query = function (...args) {
      const [text] = args
      if (text === WRITE_ROW) wroteRow.add(this)
      // These statements are transactions of their own.
      if (typeof text === 'string' && COMMITTING_CALL.test(text)) strike('before commit')
      if (text !== 'COMMIT') return query.apply(this, args)
      strike('before commit')
      if (!wroteRow.delete(this)) return query.apply(this, args)
      strike('before COMMIT of the handler')
      const committing = query.apply(this, args)
      strike('during COMMIT of the handler')
      return committing.then((result) => {
        strike('after COMMIT, before it is reported')
        return result
      })
    }
  },
}
