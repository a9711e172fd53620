import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { TcpProxy } from '../../support/tcp-proxy.js'
import { nextLook } from '../../support/until.js'

const BEGIN = { leaseMs: 600_000 }
const COMPLETE = { move: 'complete' } as const

describeWithDatabase('a PostgresInbox whose synchronous standby is promoted', (database) => {
  it('has what it has acknowledged, and its claims are valid', async () => {
    const { server } = database
    const standby = await server.startStandby()
    await server.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await server.query('SELECT pg_reload_conf()')
    const isFollowed = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
    for (let looks = 0; (await server.query(isFollowed)).rowCount === 0; looks++) await nextLook(looks)
    const proxy = await TcpProxy.start(server.port)
    const connectionString = database.connectionString.replace(/:\d+\//, `:${proxy.port}/`)
    const inbox = database.inboxOn(database.newSchema(), { connectionString })
    const stored = await Promise.all(Array.from({ length: 20 }, () => inbox.add(arrival())))
    const begun = await Promise.all(Array.from({ length: 20 }, () => inbox.add(arrival(), BEGIN)))
    const ends = begun.map((added) => ({
      claim: 'claim' in added && added.claim ? added.claim : { id: '0', token: 0 },
      end: COMPLETE,
    }))
    expect((await inbox.settle(ends.slice(0, 5))).size).toBe(5)
    await server.kill()
    proxy.targetPort = standby.port
    await standby.query('SELECT pg_promote()')
    for (let looks = 0; ; looks++) {
      if (await inbox.stats().catch(() => undefined)) break
      await nextLook(looks)
    }
    expect((await inbox.stats()).counts).toMatchObject({ stored: 20, running: 15, handled: 5 })
    expect((await inbox.settle(ends.slice(5))).size).toBe(15)
    const { entries } = await inbox.claim({ eventTypes: 'any', limit: 100, leaseMs: 60_000 })
    expect(new Set(entries.map(({ id }) => id))).toEqual(new Set(stored.map(({ id }) => id)))
    await inbox.close()
    await proxy.stop()
    await standby.remove()
  }, 60_000)
})
