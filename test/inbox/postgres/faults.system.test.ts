import pg from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { randomRuns } from '../../support/random-runs.js'
import { TcpProxy } from '../../support/tcp-proxy.js'
import { LIMIT_MS } from '../../support/until.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
/** Each at a moment that nobody chose. */
const KILLS = randomRuns(8)
/** For tests with `fakeTimeouts()`: the limits of the server pass nevertheless, and most work takes less. */
const BUSY = { busyTimeoutMs: 1_000 }
/** For tests that wait until it has passed. */
const SOON_BUSY = { busyTimeoutMs: 300 }

// With the settings of a server that does not lose what it has committed.
describeWithDatabase(
  'a PostgresInbox, when its database',
  (database) => {
    const opened = async (options = {}): Promise<{ inbox: PostgresInbox; schema: string }> => {
      const schema = database.newSchema()
      const inbox = database.inboxOn(schema, options)
      // A first connection may take longer than its busyTimeoutMs on a busy machine.
      await eventually(() => inbox.open())
      return { inbox, schema }
    }

    const eventually = async (work: () => Promise<void>): Promise<void> => {
      const giveUpAt = performance.now() + LIMIT_MS
      for (;;) {
        try {
          return await work()
        } catch (error) {
          if (performance.now() > giveUpAt) throw error
          await delay(20)
        }
      }
    }

    /** Tries until the inbox works again. */
    const recovered = (inbox: PostgresInbox): Promise<void> =>
      eventually(async () => {
        expect((await inbox.add(arrival())).result).toBe('stored')
        const { entries } = await inbox.claim(ANY)
        await inbox.settle(entries.map((claim) => ({ claim, end: { move: 'handBack' } })))
      })

    it('is killed under load, has lost nothing that was answered', async () => {
      const { inbox } = await opened({ busyTimeoutMs: 1_000 })
      const stored: string[] = []
      const codes = new Set<unknown>()
      const load = { isOver: false }
      const adding = Array.from({ length: 20 }, async () => {
        while (!load.isOver) {
          try {
            stored.push((await inbox.add(arrival())).id)
          } catch (error) {
            codes.add((error as { code: unknown }).code)
            await delay(20)
          }
        }
      })
      for (let kills = 0; kills < KILLS; kills++) {
        const before = stored.length
        while (stored.length < before + 100) await delay(5)
        await database.server.kill()
        await database.server.restart()
      }
      await recovered(inbox)
      load.isOver = true
      await Promise.all(adding)
      expect([...codes].every((code) => code === 'ERR_INBOX_UNREACHABLE' || code === 'ERR_INBOX_BUSY')).toBe(
        true,
      )
      const found = new Set<string>()
      for (let afterId: string | undefined; ;) {
        const page = (await inbox.list({}, { limit: 1_000, ...(afterId && { afterId }) })).entries
        if (page.length === 0) break
        for (const { id } of page) found.add(id)
        afterId = page.at(-1)!.id
      }
      expect(stored.filter((id) => !found.has(id))).toEqual([])
    }, 60_000)

    it('cuts all connections, recovers', async () => {
      const { inbox } = await opened()
      for (let round = 0; round < 5; round++) {
        const adding = Array.from({ length: 20 }, () => inbox.add(arrival()))
        await database.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'countersign'",
        )
        const results = await Promise.allSettled(adding)
        // Before that, a read may still be given a connection that was cut.
        await recovered(inbox)
        for (const result of results) {
          if (result.status === 'fulfilled') expect(await inbox.show(result.value.id)).toBeDefined()
          else expect(result.reason).toMatchObject({ code: 'ERR_INBOX_UNREACHABLE' })
        }
      }
    })

    it('is read-only, says so, and recovers', async () => {
      const { inbox } = await opened()
      const name = new URL(database.connectionString).pathname.slice(1)
      await database.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
      await database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'countersign'",
      )
      // The connections that were cut have to be replaced.
      let error: unknown
      for (let tries = 0; tries < 5 && (error as { code?: string })?.code !== 'ERR_INBOX_READ_ONLY'; tries++)
        error = await inbox.add(arrival()).catch((reason: unknown) => reason)
      expect(error).toMatchObject({
        code: 'ERR_INBOX_READ_ONLY',
        message: expect.stringContaining('primary server'),
      })
      await database.server.query(
        `BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = off; COMMIT`,
      )
      // The sessions that began before stay read-only, as connections to a server that has become a standby do.
      await recovered(inbox)
    })

    it('has no connection left in the pool, says so, and still renews leases', async () => {
      const pool = new pg.Pool({ connectionString: database.connectionString, max: 4 })
      // Its connections may still be closing when the server is stopped.
      pool.on('error', () => {})
      const { inbox } = await opened({ ...BUSY, pool, connectionString: undefined })
      const pass = fakeTimeouts()
      await inbox.add(arrival())
      const { entries } = await inbox.claim(ANY)
      const taken = await Promise.all([pool.connect(), pool.connect(), pool.connect()])
      const refused = expect(inbox.add(arrival())).rejects.toMatchObject({
        code: 'ERR_INBOX_BUSY',
        message: expect.stringContaining('no connection within 1000 ms'),
      })
      await pass(2 * BUSY.busyTimeoutMs)
      await refused
      expect((await inbox.extend(entries, 60_000)).size).toBe(1)
      for (const client of taken) client.release()
      jest.useRealTimers()
      await recovered(inbox)
      await inbox.close()
      await pool.end()
    })

    it('has one of its tables locked, says so, and recovers', async () => {
      const tables = ['due', 'schema_version']
      const inboxes = await Promise.all(
        tables.map(async (table) => ({ table, ...(await opened(SOON_BUSY)) })),
      )
      // The server ends the wait for a lock, and nothing else has a limit.
      fakeTimeouts()
      // All at once, because each waits for its busyTimeoutMs.
      const locked = inboxes.map(async ({ table, inbox, schema }) => {
        const other = new pg.Client(database.connectionString)
        await other.connect()
        await other.query(`BEGIN; LOCK TABLE ${schema}.${table}`)
        const refused = [inbox.add(arrival()), inbox.claim(ANY)]
        for (const result of await Promise.allSettled(refused))
          expect({ table, ...result }).toMatchObject({ table, reason: { code: 'ERR_INBOX_BUSY' } })
        await other.query('ROLLBACK')
        await other.end()
      })
      await Promise.all(locked)
      jest.useRealTimers()
      for (const { inbox } of inboxes) await recovered(inbox)
    })

    it('does not answer at all, gives up the connection, and recovers', async () => {
      const proxy = await TcpProxy.start(database.server.port)
      const connectionString = database.connectionString.replace(/:\d+\//, `:${proxy.port}/`)
      const { inbox } = await opened({ ...SOON_BUSY, connectionString })
      await recovered(inbox)
      proxy.isSilent = true
      await expect(inbox.claim(ANY)).rejects.toMatchObject({ code: 'ERR_INBOX_UNREACHABLE' })
      // Whether a connection was idle or had to be made.
      const code = expect.stringMatching(/ERR_INBOX_(UNREACHABLE|BUSY)/)
      await expect(inbox.add(arrival())).rejects.toMatchObject({ code })
      proxy.isSilent = false
      await recovered(inbox)
      await inbox.close()
      await proxy.stop()
    })

    it('does not answer any more, lets the inbox be closed', async () => {
      const proxy = await TcpProxy.start(database.server.port)
      const connectionString = database.connectionString.replace(/:\d+\//, `:${proxy.port}/`)
      const { inbox } = await opened({ ...SOON_BUSY, connectionString })
      proxy.isSilent = true
      await inbox.close()
      await proxy.stop()
    })

    it.each([
      ['COMMIT', 'COMMIT\0', { orderKey: 'account 1' }],
      ['the statement that is a commit as well', 'store_new', {}],
    ])('is lost during %s, rejects, and recognises the repeat', async (_what, sent, own) => {
      const proxy = await TcpProxy.start(database.server.port)
      const connectionString = database.connectionString.replace(/:\d+\//, `:${proxy.port}/`)
      const { inbox, schema } = await opened({ connectionString })
      let cuts = 0
      proxy.cutAfter = (bytes) => bytes.includes(sent) && !bytes.includes('NOTIFY') && cuts++ === 0
      const given = arrival(own)
      await expect(inbox.add(given)).rejects.toMatchObject({ code: 'ERR_INBOX_UNREACHABLE' })
      expect(cuts).toBeGreaterThan(0)
      // The server commits what it was sent, possibly after a repeat that comes at once.
      while ((await database.query(`SELECT 1 FROM ${schema}.entries`)).rows.length === 0);
      expect((await inbox.add(given)).result).toBe('duplicate')
      expect((await inbox.stats()).counts.stored).toBe(1)
      await inbox.close()
      await proxy.stop()
    })

    it('refuses the login, says so and not that a grant is missing', async () => {
      const connectionString = database.connectionString.replace(/\/[^/]*$/, '/nowhere')
      await expect(database.inboxOn('nowhere', { connectionString }).open()).rejects.toMatchObject({
        code: 'ERR_INBOX_FORBIDDEN',
        message: expect.stringMatching(/refuses the login.*"nowhere" does not exist/),
      })
    })

    it('cannot be connected to for a reason without a code, says so', async () => {
      const connectionString = `${database.connectionString}?sslmode=verify-full`
      await expect(database.inboxOn('nowhere', { connectionString }).open()).rejects.toMatchObject({
        code: 'ERR_INBOX_UNREACHABLE',
        message: expect.stringContaining('does not support SSL'),
      })
    })

    it('is killed at the COMMIT of a transactional handler, rolls it back, and says so at once', async () => {
      const proxy = await TcpProxy.start(database.server.port)
      const connectionString = database.connectionString.replace(/:\d+\//, `:${proxy.port}/`)
      const { inbox, schema } = await opened({ connectionString })
      await database.query(`CREATE TABLE ${schema}.ledger (entry text)`)
      await inbox.add(arrival())
      const { entries } = await inbox.claim(ANY)
      await inbox.begin(entries, 60_000)
      let restarting: Promise<void> | undefined
      proxy.cutAfter = (bytes) => {
        if (bytes.includes('COMMIT\0') && !bytes.includes('NOTIFY'))
          restarting ??= database.server.kill().then(() => database.server.restart())
        return false
      }
      const working = inbox.transact(entries[0]!, { timeoutMs: 5_000 }, async (transaction) => {
        await transaction.query(`INSERT INTO ${schema}.ledger VALUES ('row')`)
        return { move: 'complete' }
      })
      await expect(working).rejects.toMatchObject({
        code: 'ERR_INBOX_UNREACHABLE',
        message: expect.stringContaining('nothing was committed'),
      })
      await restarting
      expect((await database.query(`SELECT entry FROM ${schema}.ledger`)).rowCount).toBe(0)
      expect(await inbox.show(entries[0]!.id)).toMatchObject({ state: 'running' })
      await inbox.close()
      await proxy.stop()
    })

    it('is gone, says so without the password', async () => {
      const inbox = database.inboxOn('nowhere', { connectionString: 'postgres://ann:s3cret@127.0.0.1:1/x' })
      const error = (await inbox.open().catch((reason: unknown) => reason)) as Error
      expect(error).toMatchObject({ code: 'ERR_INBOX_UNREACHABLE' })
      expect(JSON.stringify([error, error.message, error.stack, error.cause])).not.toContain('s3cret')
    })
  },
  // What has not been committed is not written to the disk by chance.
  ['wal_writer_delay = 10s'],
)
