import { EventEmitter } from 'node:events'
import { setImmediate as nextTick } from 'node:timers/promises'
import { Connections } from '../../../src/inbox/postgres/connections.js'
import type { PostgresResult } from '../../../src/inbox/postgres/driver.js'
import { Announcements } from '../../../src/inbox/postgres/notifications.js'
import { fakeTimeouts } from '../../support/fake-timeouts.js'

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

function announcing() {
  const pool = new PoolOfOne()
  const options = { connectionString: undefined, maxConnections: 4, schema: 'any', busyTimeoutMs: 1_000 }
  return { pool, announcements: new Announcements(new Connections({ ...options, pool })) }
}

test('the first announcement is sent at once, and the others at most every 10 ms', async () => {
  const { pool, announcements } = announcing()
  const startedAt = performance.now()
  announcements.announce()
  await nextTick()
  expect(pool.client.notifications).toBe(1)
  while (pool.client.notifications < 8) {
    announcements.announce()
    await nextTick()
  }
  // A timer may be early by a part of a millisecond.
  expect(pool.client.notifications).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 9)
  await announcements.close()
})

test('the last announcement is sent without a pause when the inbox is closed', async () => {
  // No pause ends.
  fakeTimeouts()
  const { pool, announcements } = announcing()
  announcements.announce()
  await nextTick()
  announcements.announce()
  await announcements.close()
  expect(pool.client.notifications).toBe(2)
})
