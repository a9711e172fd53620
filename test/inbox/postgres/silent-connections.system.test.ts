import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { describeWithDatabase } from '../../support/postgres-inbox.js'
import { runInboxReceiver } from '../../support/running-inbox-receiver.js'
import { genuine } from '../../support/running-receiver.js'
import { TcpProxy } from '../../support/tcp-proxy.js'

/** A connection that has not answered by then is given up a quarter of it later. */
const BUSY_TIMEOUT_MS = 4_000
const DEPENDENCY_TIMEOUT_MS = 300

describeWithDatabase('connections of a PostgresInbox that have gone silent', (database) => {
  const receiving = async () => {
    const proxy = await TcpProxy.start(database.server.port)
    const connectionString = database.connectionString.replace(/:\d+\//, `:${proxy.port}/`)
    const inbox = database.inboxOn(database.newSchema(), { connectionString, busyTimeoutMs: BUSY_TIMEOUT_MS })
    const { send } = await runInboxReceiver({
      inbox,
      dependencyTimeoutMs: DEPENDENCY_TIMEOUT_MS,
      handler: null,
    })
    const status = async () => (await send(genuine())).status
    /** Until a callback is answered 200, while others arrive. */
    const recoveryMs = async () => {
      const startedAt = performance.now()
      while (!(await Promise.all([status(), delay(20).then(status), delay(40).then(status)])).includes(200));
      return performance.now() - startedAt
    }
    return { proxy, inbox, status, recoveryMs }
  }

  it('are given up once the callbacks that wait for them were answered 503', async () => {
    const { proxy, inbox, status, recoveryMs } = await receiving()
    while ((await status()) !== 200);
    // More connections, which are idle then.
    await Promise.all(Array.from({ length: 8 }, () => inbox.stats()))
    proxy.silence()
    expect(await recoveryMs()).toBeLessThan(2 * BUSY_TIMEOUT_MS)
    proxy.cut()
    await inbox.close()
    await proxy.stop()
  }, 60_000)
})
