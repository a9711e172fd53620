import { setImmediate as nextTick } from 'node:timers/promises'
import { connection } from '../support/connection.js'
import { deferred } from '../support/deferred.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { storeWith } from '../support/stores.js'
import { until } from '../support/until.js'

// A timer for each callback would hold its body in memory, and a process back from its end, long after the answer.
const fakeTimers = () =>
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'performance', 'Date'] })
afterEach(() => jest.useRealTimers())

/** Long enough for each limit to have its timer set. */
async function slowly<Value>(step: () => Value): Promise<Awaited<Value>> {
  for (let turn = 0; turn < 5; turn++) await nextTick()
  return await step()
}

describe('a callback leaves no timer behind', () => {
  it('when nothing of it takes longer than a turn of the event loop', async () => {
    const { port, outcomes } = await runReceiver()
    fakeTimers()
    const { socket, receives } = await connection(port)
    socket.write(genuine().toHttp())
    await receives(/200 OK/)
    await slowly(() => until(() => outcomes.length === 1))
    expect(jest.getTimerCount()).toBe(0)
  })

  it.each([
    ['handled', 200, () => undefined],
    ['failed', 500, () => Promise.reject(new Error('no'))],
  ])('when all of it is slow, and it was %s', async (_what, status, handler) => {
    const store = storeWith({ claim: slowly, complete: slowly, release: slowly })
    const { port, outcomes } = await runReceiver({
      subscriptions: () => slowly(() => [subscription]),
      store,
      handler: () => slowly(handler),
    })
    fakeTimers()
    const { socket, receives } = await connection(port)
    const request = genuine().toHttp()
    socket.write(request.subarray(0, -1))
    await slowly(() => socket.write(request.subarray(-1)))
    await receives(new RegExp(`^HTTP/1.1 ${status} `))
    await slowly(() => until(() => outcomes.length === 1))
    expect(jest.getTimerCount()).toBe(0)
  })

  it('when what it asked failed', async () => {
    const { port, outcomes } = await runReceiver({
      subscriptions: () => slowly(() => Promise.reject(new Error('away'))),
    })
    fakeTimers()
    const { socket, receives } = await connection(port)
    socket.write(genuine().toHttp())
    await receives(/^HTTP\/1\.1 503 /)
    await slowly(() => until(() => outcomes.length === 1))
    expect(jest.getTimerCount()).toBe(0)
  })

  it('when it was refused before its body had come', async () => {
    const { port } = await runReceiver()
    fakeTimers()
    const { socket, receives } = await connection(port)
    const request = genuine({ headers: { Authorization: null } }).toHttp()
    socket.write(request.subarray(0, -1))
    await receives(/^HTTP\/1\.1 401 [^]*}$/)
    socket.write(request.subarray(-1))
    await until(() => jest.getTimerCount() === 0)
  })
  it('when its sender hangs up on a refusal instead of sending the rest', async () => {
    const { port } = await runReceiver()
    fakeTimers()
    const { socket, receives } = await connection(port)
    socket.write(
      genuine({ headers: { Authorization: null } })
        .toHttp()
        .subarray(0, -1),
    )
    await receives(/^HTTP\/1\.1 401 [^]*}$/)
    expect(jest.getTimerCount()).toBe(1)
    socket.resetAndDestroy()
    await until(() => jest.getTimerCount() === 0)
  })

  it('when its sender has hung up', async () => {
    const { port, outcomes } = await runReceiver()
    fakeTimers()
    const { socket } = await connection(port)
    socket.write(genuine().toHttp().subarray(0, -1), () => socket.resetAndDestroy())
    await slowly(() => until(() => outcomes.length === 1))
    expect(jest.getTimerCount()).toBe(0)
  })

  it('when its sender has hung up while an earlier callback of the connection is handled', async () => {
    const finish = deferred()
    const { port, outcomes } = await runReceiver({ handler: () => finish.promise })
    fakeTimers()
    const { socket } = await connection(port)
    const both = Buffer.concat([genuine().toHttp(), genuine().toHttp().subarray(0, -1)])
    socket.write(both, () => socket.resetAndDestroy())
    await until(() => outcomes.length === 1)
    finish.resolve()
    await slowly(() => until(() => outcomes.length === 2))
    expect(outcomes.map(({ code }) => code)).toEqual(['ERR_BODY_ABORTED', 'HANDLED'])
    expect(jest.getTimerCount()).toBe(0)
  })
})

it('a sender whose time for the body is up is not listened to any longer', async () => {
  const { port } = await runReceiver({ bodyTimeoutMs: 60_000 })
  fakeTimers()
  const { socket, received, closed } = await connection(port)
  socket.write(genuine().toHttp().subarray(0, -1))
  await until(() => jest.getTimerCount() === 1)
  jest.advanceTimersByTime(60_000)
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 408 /)
})
