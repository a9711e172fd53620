import { EventEmitter } from 'node:events'
import pg from 'pg'
import { createReceiver } from '../../../src/index.js'
import { Connections } from '../../../src/inbox/postgres/connections.js'
import type { PostgresClient } from '../../../src/inbox/postgres/driver.js'
import { deferred } from '../../support/deferred.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'
import { subscription } from '../../support/subscription.js'
import { nextLook } from '../../support/until.js'

const CLOSED = { code: 'ERR_CLOSED' }
const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'

describeWithAnyDatabase('a PostgresInbox that is closed', (database) => {
  it('says so to waitFor(), whose query is still running', async () => {
    const schema = database.newSchema()
    // Longer than the test: no lock and no answer is given up.
    const inbox = database.inboxOn(schema, { busyTimeoutMs: 60_000 })
    await inbox.open()
    const receiver = createReceiver({ subscriptions: [subscription], inbox, logger: false })
    const other = new pg.Client(database.connectionString)
    await other.connect()
    try {
      await other.query(`BEGIN; LOCK TABLE ${schema}.entries`)
      const waiting = expect(receiver.waitFor(KEY)).rejects.toMatchObject(CLOSED)
      const waitsForLock = async () =>
        (
          await database.query('SELECT FROM pg_locks WHERE NOT granted AND relation = to_regclass($1)', [
            `${schema}.entries`,
          ])
        ).rowCount === 1
      for (let looks = 0; !(await waitsForLock()); looks++) await nextLook(looks)
      await Promise.all([inbox.close(), waiting])
    } finally {
      await other.end()
    }
  })
})

test('what waits for a connection when its pool is ended is told that the inbox is closed', async () => {
  const connecting = deferred<PostgresClient>()
  const pool = Object.assign(new EventEmitter(), { connect: () => connecting.promise })
  const connections = new Connections({
    pool,
    connectionString: undefined,
    maxConnections: 4,
    schema: 'countersign',
    busyTimeoutMs: 60_000,
  })
  const acquiring = expect(connections.acquire()).rejects.toMatchObject(CLOSED)
  await connections.close()
  connecting.reject(new Error('Cannot use a pool after calling end on the pool'))
  await acquiring
})
