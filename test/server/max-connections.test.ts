import { connection } from '../support/connection.js'
import { deferred } from '../support/deferred.js'
import { genuine } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { get, start } from './running-server.js'

describe('at maxConnections', () => {
  const idle = async (port: number) => {
    const opened = await connection(port)
    opened.socket.write(get('/healthz'))
    await opened.receives(/"ok"}/)
    return opened
  }

  it('the connection that has been idle longest is closed, and the new one is served', async () => {
    const { port } = await start({ maxConnections: 3 })
    const [first, second, third] = [await idle(port), await idle(port), await idle(port)]
    // Now the second has been idle longest.
    first.socket.write(get('/readyz'))
    await first.receives(/"ready"}/)
    const fourth = await connection(port)
    fourth.socket.write(genuine().toHttp())
    await fourth.receives(/200 OK/)
    await second.closed
    expect([first, third, fourth].map(({ socket }) => socket.closed)).toEqual([false, false, false])
  })

  it('a connection on which nothing was ever sent counts as idle', async () => {
    const { port } = await start({ maxConnections: 2 })
    const silent = await connection(port)
    await idle(port)
    const third = await idle(port)
    await silent.closed
    expect(third.socket.closed).toBe(false)
  })

  it('no connection is closed whose request is being answered: then it is the new one', async () => {
    const finish = deferred()
    let running = 0
    const { port } = await start({ maxConnections: 2 }, { handler: () => (running++, finish.promise) })
    const busy = [await connection(port), await connection(port)]
    for (const { socket } of busy) socket.write(genuine().toHttp())
    await until(() => running === 2)
    const refused = await connection(port)
    await refused.closed
    expect(refused.received()).toBe('')
    finish.resolve()
    for (const { receives } of busy) await receives(/200 OK/)
    // Idle again, the two make room.
    const next = await idle(port)
    await busy[0]!.closed
    expect(next.socket.closed).toBe(false)
  })

  it('if none is idle, the connection is closed whose request has been on its way longest', async () => {
    const finish = deferred()
    let running = 0
    const { port } = await start({ maxConnections: 3 }, { handler: () => (running++, finish.promise) })
    const busy = await connection(port)
    busy.socket.write(genuine().toHttp())
    await until(() => running === 1)
    const slow = [await connection(port), await connection(port)]
    for (const { socket, receives } of slow) {
      const request = genuine({ headers: { Expect: '100-continue' } }).toHttp()
      socket.write(request.subarray(0, request.indexOf('\r\n\r\n') + 4))
      await receives(/100 Continue/)
    }
    const next = await connection(port)
    next.socket.write(genuine().toHttp())
    await until(() => running === 2)
    await slow[0]!.closed
    expect(slow[1]!.socket.closed).toBe(false)
    finish.resolve()
    await busy.receives(/200 OK/)
    await next.receives(/200 OK/)
  })

  it('a sender is slow also when its last request follows others that were answered', async () => {
    const { port } = await start({ maxConnections: 1 })
    const slow = await connection(port)
    const request = genuine().toHttp()
    slow.socket.write(Buffer.concat([Buffer.from(get('/healthz')), request.subarray(0, request.length - 5)]))
    await slow.receives(/"ok"}/)
    const next = await connection(port)
    next.socket.write(genuine().toHttp())
    await next.receives(/200 OK/)
    await slow.closed
  })

  it('a connection with several requests is idle once all have been answered', async () => {
    const finish = deferred()
    const { port } = await start({ maxConnections: 2 }, { handler: () => finish.promise })
    const pipelining = await connection(port)
    pipelining.socket.write(Buffer.concat([genuine().toHttp(), genuine().toHttp()]))
    const other = await idle(port)
    await idle(port)
    await other.closed
    expect(pipelining.socket.closed).toBe(false)
    finish.resolve()
    await pipelining.receives(/200 OK[^]*200 OK/)
  })

  it('connections that hang up make room', async () => {
    const { port } = await start({ maxConnections: 2 })
    const kept = await idle(port)
    for (let i = 0; i < 5; i++) {
      const passing = await idle(port)
      passing.socket.end()
      await passing.closed
    }
    expect(kept.socket.closed).toBe(false)
  })
})
