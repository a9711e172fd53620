import { EventEmitter } from 'node:events'
import { setImmediate as nextTick } from 'node:timers/promises'
import { Connections } from '../../../src/inbox/postgres/connections.js'
import type { PostgresResult } from '../../../src/inbox/postgres/driver.js'
import { Announcements } from '../../../src/inbox/postgres/notifications.js'

class CountingClient extends EventEmitter {
  notifications = 0
  async query(text: string): Promise<PostgresResult> {
    if (text.includes('NOTIFY')) this.notifications++
    return { command: 'COMMIT', rowCount: null, rows: [] }
  }
  release(): void {}
}

class PoolOfOne extends EventEmitter {
  readonly client = new CountingClient()
  async connect(): Promise<CountingClient> {
    return this.client
  }
}

test('the first announcement is sent at once, and the others at most every 10 ms', async () => {
  const pool = new PoolOfOne()
  const options = { connectionString: undefined, maxConnections: 4, schema: 'any', busyTimeoutMs: 1_000 }
  const announcements = new Announcements(new Connections({ ...options, pool }))
  const startedAt = performance.now()
  announcements.announce()
  await nextTick()
  expect(pool.client.notifications).toBe(1)
  while (performance.now() - startedAt < 100) {
    announcements.announce()
    await nextTick()
  }
  await announcements.idle()
  expect(pool.client.notifications).toBeGreaterThan(1)
  // A timer may be early by a part of a millisecond.
  expect(pool.client.notifications).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 9)
})
