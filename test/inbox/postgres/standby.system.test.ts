import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { roleWithSettings } from '../../support/postgres-role.js'
import { nextLook } from '../../support/until.js'

const READ_ONLY = { code: 'ERR_INBOX_READ_ONLY', message: expect.stringContaining('primary server') }

describeWithDatabase('a PostgresInbox whose server has become a standby', (database) => {
  it.each(['read committed', 'serializable'])(
    'says that it is read-only, and gives up the connection, if its role has the isolation %s',
    async (isolation) => {
      const connectionString = await roleWithSettings(database, [
        `default_transaction_isolation = '${isolation}'`,
      ])
      const role = decodeURIComponent(new URL(connectionString).username)
      const sessions = async () => {
        const sql = 'SELECT pid FROM pg_stat_activity WHERE usename = $1'
        const { rows } = await database.query(sql, [role])
        return rows.map(({ pid }: { pid: number }) => pid)
      }
      const inbox = database.inboxOn(database.newSchema(), { connectionString })
      await inbox.open()
      const { rows } = await database.query('SHOW data_directory')
      await database.server.stop()
      writeFileSync(join((rows[0] as { data_directory: string }).data_directory, 'standby.signal'), '')
      await database.server.restart()
      const asks = [
        () => inbox.add(arrival()),
        () => inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 1 }),
        () => inbox.begin([{ id: '1', token: 1 }], 60_000),
      ]
      for (const ask of asks) {
        // The connections that were cut are replaced.
        let error: unknown
        for (let looks = 0; looks < 10; looks++) {
          error = await ask().catch((reason: unknown) => reason)
          if ((error as { code?: string }).code !== 'ERR_INBOX_UNREACHABLE') break
        }
        expect(error).toMatchObject(READ_ONLY)
      }
      // The connection for leases is given up when it is used next. The server notices it a moment later.
      const before = await sessions()
      await asks.at(-1)!().catch(() => {})
      for (let looks = 0; (await sessions()).some((pid) => before.includes(pid)); looks++)
        await nextLook(looks)
      await database.server.query('SELECT pg_promote()')
      for (let looks = 0; ; looks++) {
        const added = await inbox.add(arrival()).catch(() => undefined)
        if (added) return expect(added.result).toBe('stored')
        await nextLook(looks)
      }
    },
  )
})
