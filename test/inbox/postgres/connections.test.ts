import { EventEmitter, once } from 'node:events'
import { createServer, Socket, type AddressInfo } from 'node:net'
import { Connections } from '../../../src/inbox/postgres/connections.js'
import type { PostgresResult } from '../../../src/inbox/postgres/driver.js'

class FakeClient extends EventEmitter {
  isDestroyed = false
  async query(): Promise<PostgresResult> {
    return { command: 'SELECT', rowCount: 0, rows: [] }
  }
  release(destroy?: Error | boolean): void {
    this.isDestroyed = Boolean(destroy)
  }
}

/** Hands over a new client as pg-pool does. The server ends the session in the packet that ends the login. */
class PoolOfEndedSessions extends EventEmitter {
  readonly client = new FakeClient()
  connect(): Promise<FakeClient> {
    return new Promise((resolve) =>
      setImmediate(() => {
        this.emit('connect', this.client)
        resolve(this.client)
        this.client.emit('error', new Error('terminating connection'))
      }),
    )
  }
}

const options = {
  connectionString: undefined,
  maxConnections: 4,
  schema: 'countersign',
  busyTimeoutMs: 1_000,
}

test('a session that ends with the login does not end the process, and its connection is lost', async () => {
  const pool = new PoolOfEndedSessions()
  const connections = new Connections({ ...options, pool })
  const connection = await connections.acquire()
  expect(connection.lost()).toMatchObject({
    code: 'ERR_INBOX_UNREACHABLE',
    message: expect.stringContaining('terminating connection'),
  })
  await expect(connection.query('SELECT 1')).rejects.toMatchObject({ code: 'ERR_INBOX_UNREACHABLE' })
  connection.release()
  expect(pool.client.isDestroyed).toBe(true)
})

test('a pool of the user has no listeners of the inbox after it was closed', async () => {
  const pool = new PoolOfEndedSessions()
  const connections = new Connections({ ...options, pool })
  const connection = await connections.acquire()
  connection.release()
  await connections.close()
  expect(pool.eventNames()).toEqual([])
})

test('a connection that is idle is looked after once a minute', async () => {
  const keepAlive = jest.spyOn(Socket.prototype, 'setKeepAlive')
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connectionString = `postgres://ann@127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`
  const connections = new Connections({ ...options, pool: undefined, connectionString })
  await expect(connections.acquire()).rejects.toMatchObject({ code: 'ERR_INBOX_UNREACHABLE' })
  const { calls } = keepAlive.mock
  keepAlive.mockRestore()
  await connections.close()
  server.close()
  expect(calls).toEqual([[true, 60_000]])
})
