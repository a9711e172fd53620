import { execFile } from 'node:child_process'
import { setImmediate as nextTick } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createReceiver, type CallbackPayload, type ClaimResult } from '../../src/index.js'
import { collectedLog } from '../support/collected-log.js'
import { connection } from '../support/connection.js'
import { deferred } from '../support/deferred.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { HOST_NAMES } from '../support/hosts.js'
import { itBeside } from '../support/it-beside.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { storeWith } from '../support/stores.js'
import { LIMIT_MS, until } from '../support/until.js'

describe.each(HOST_NAMES)('stop(), in %s,', (hostName) => {
  it('waits for the handlers that run, and lets no new one begin', async () => {
    const finish = deferred()
    const { receiver, send, handled, outcomes } = await runReceiver({
      in: hostName,
      handler: () => finish.promise,
    })
    const running = send(genuine())
    await until(() => handled.length === 1)
    let stopped = false
    const stopping = receiver.stop().then(() => (stopped = true))

    expect(await send(genuine())).toMatchObject({
      status: 503,
      headers: { connection: 'close', 'retry-after': '10' },
    })
    expect(stopped).toBe(false)
    finish.resolve()
    expect(await running).toMatchObject({ status: 200 })
    await stopping
    expect(outcomes.map(({ code }) => code)).toEqual(['ERR_SHUTTING_DOWN', 'HANDLED'])
  })

  it('has no handler begin with a body that was still on its way', async () => {
    const { receiver, port, handled, outcomes } = await runReceiver({ in: hostName })
    const { socket, receives } = await connection(port)
    const { body, toHttp } = genuine({ headers: { Expect: '100-continue' } })
    socket.write(toHttp().subarray(0, -body.length))
    await receives(/100 Continue/)
    await receiver.stop()
    // At once, as the rest may never come.
    await receives(/HTTP\/1\.1 503 [^]*\r\nConnection: close\r\n[^]*}$/)
    socket.write(body)
    await until(() => outcomes.length === 1)

    expect(outcomes[0]?.code).toBe('ERR_SHUTTING_DOWN')
    expect(handled).toEqual([])
  })
})

describe('stop()', () => {
  it('has no handler begin while subscriptions are still being looked up', async () => {
    const found = deferred()
    const asked = jest.fn()
    const { receiver, send, handled } = await runReceiver({
      async subscriptions() {
        asked()
        await found.promise
        return [subscription]
      },
    })
    const answer = send(genuine())
    await until(() => asked.mock.calls.length === 1)
    let stopped = false
    const stopping = receiver.stop().then(() => (stopped = true))
    await new Promise(setImmediate)
    expect(stopped).toBe(false)
    found.resolve()
    expect(await answer).toMatchObject({ status: 503, headers: { connection: 'close' } })
    await stopping
    expect(handled).toEqual([])
  })

  it('has no handler begin whose claim is granted after stopTimeoutMs', async () => {
    const granted = deferred()
    const claim = jest.fn((take: () => Promise<ClaimResult>) => granted.promise.then(take))
    const release = jest.fn((giveBack: () => Promise<void>) => giveBack())
    const { receiver, send, handled, log } = await runReceiver({
      store: storeWith({ claim, release }),
      stopTimeoutMs: 20,
    })
    const answer = send(genuine())
    await until(() => claim.mock.calls.length === 1)
    const stopping = receiver.stop()
    await until(() => log.withCode('WARN_STOP_TIMEOUT').length === 1)
    granted.resolve()
    expect(await answer).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    await stopping
    await until(() => release.mock.calls.length === 1)
    expect(handled).toEqual([])
  })

  it('has no handler begin whose payload is checked until after stopTimeoutMs', async () => {
    const checked = deferred()
    const release = jest.fn((giveBack: () => Promise<void>) => giveBack())
    const validate = jest.fn((value: unknown) =>
      checked.promise.then(() => ({ value: value as CallbackPayload })),
    )
    const { receiver, send, handled, log } = await runReceiver({
      store: storeWith({ release }),
      schemas: { 'transfers.book-completed': { '~standard': { version: 1, vendor: 'test', validate } } },
      stopTimeoutMs: 20,
    })
    const answer = send(genuine())
    await until(() => validate.mock.calls.length === 1)
    const stopping = receiver.stop()
    await until(() => log.withCode('WARN_STOP_TIMEOUT').length === 1)
    checked.resolve()
    expect(await answer).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    await stopping
    expect(release).toHaveBeenCalledTimes(1)
    expect(handled).toEqual([])
  })

  it('aborts the handlers after stopTimeoutMs', async () => {
    let reason: unknown
    const { receiver, send, handled, log, outcomes } = await runReceiver({
      stopTimeoutMs: 20,
      handler: (_event, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject((reason = signal.reason))),
        ),
    })
    const answer = send(genuine())
    await until(() => handled.length === 1)
    await receiver.stop()

    expect(await answer).toMatchObject({ status: 500 })
    expect(reason).toMatchObject({ message: 'stop() aborted the handlers after 20 ms (stopTimeoutMs)' })
    expect(outcomes[0]?.code).toBe('ERR_HANDLER_FAILED')
    expect(log.withCode('WARN_STOP_TIMEOUT')).toHaveLength(1)
  })

  it('waits for aborted handlers to put things in order', async () => {
    let inOrder = false
    const { receiver, send, handled } = await runReceiver({
      stopTimeoutMs: 20,
      async handler(_event, { signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        for (let turn = 0; turn < 10; turn++) await nextTick()
        inOrder = true
      },
    })
    const answer = send(genuine())
    await until(() => handled.length === 1)
    await receiver.stop()
    expect(inOrder).toBe(true)
    expect(await answer).toMatchObject({ status: 200 })
  })

  it('aborts the signal of a handler that asks for it only when stopTimeoutMs is over', async () => {
    const ask = deferred()
    let reason: unknown
    const { receiver, send, handled, log } = await runReceiver({
      stopTimeoutMs: 20,
      async handler(_event, context) {
        await ask.promise
        reason = context.signal.reason
      },
    })
    const answer = send(genuine())
    await until(() => handled.length === 1)
    const stopping = receiver.stop()
    await until(() => log.withCode('WARN_STOP_TIMEOUT').length === 1)
    ask.resolve()
    await stopping
    expect(await answer).toMatchObject({ status: 200 })
    expect(reason).toMatchObject({ message: 'stop() aborted the handlers after 20 ms (stopTimeoutMs)' })
  })

  it('leaves handlers behind that do not listen', async () => {
    const { receiver, send, handled } = await runReceiver({
      stopTimeoutMs: 20,
      handlerTimeoutMs: 100,
      handler: () => new Promise(() => {}),
    })
    const pass = fakeTimeouts()
    const answer = send(genuine())
    await until(() => handled.length === 1)
    const stopped = receiver.stop()
    await pass(5_000)
    await stopped
    expect(await answer).toMatchObject({ status: 500 })
  })

  it('waits for handlers that never return no longer than their lease', async () => {
    const { receiver, send, handled, log } = await runReceiver({
      handlerTimeoutMs: 10,
      stopTimeoutMs: 2 ** 31 - 1,
      handler: () => new Promise(() => {}),
    })
    const pass = fakeTimeouts()
    const answer = send(genuine())
    await until(() => handled.length === 1)
    await pass(10)
    expect(await answer).toMatchObject({ status: 500 })
    let hasStopped = false
    const stopped = receiver.stop().then(() => (hasStopped = true))
    await pass(59_000)
    expect(hasStopped).toBe(false)
    await pass(1_000)
    await stopped
    expect(log.withCode('WARN_STOP_TIMEOUT')).toEqual([])
  })

  it('waits for handlers that go on although their time is up', async () => {
    const finish = deferred()
    const { receiver, send } = await runReceiver({ handlerTimeoutMs: 20, handler: () => finish.promise })
    expect(await send(genuine())).toMatchObject({ status: 500 })
    let stopped = false
    const stopping = receiver.stop().then(() => (stopped = true))
    await new Promise(setImmediate)
    expect(stopped).toBe(false)
    finish.resolve()
    await stopping
  })

  it('is safe to call twice, and before start()', async () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    const first = receiver.stop()
    expect(receiver.stop()).toBe(first)
    await first
    expect(receiver.ready).toBe(false)
  })
})

describe('start()', () => {
  it('is safe to call twice, and makes the receiver ready', async () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false }).onAny(() => {})
    expect(receiver.ready).toBe(false)
    await receiver.start()
    await receiver.start()
    expect(receiver.ready).toBe(true)
    await receiver.stop()
    expect(receiver.ready).toBe(false)
  })

  it('is refused after stop(), which is for good', async () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    await receiver.stop()
    await expect(receiver.start()).rejects.toMatchObject({
      message: expect.stringMatching(/^start: .*new one/),
    })
  })

  it('warns of a receiver without handlers', async () => {
    const log = collectedLog()
    await createReceiver({ subscriptions: [subscription], logger: log }).start()
    expect(log.withCode('WARN_HANDLER_MISSING')).toMatchObject([{ level: 'warn' }])
  })

  it.each(['onAny', 'onUnhandled'] as const)(
    'does not warn of a receiver that has only %s',
    async (register) => {
      const log = collectedLog()
      const receiver = createReceiver({ subscriptions: [subscription], logger: log })
      await receiver[register](() => {}).start()
      expect(log.lines).toEqual([])
    },
  )
})

// The process waits for a second.
itBeside('a process whose store hangs can end once its receiver has stopped', async () => {
  const program = `
    import { createServer } from 'node:http'
    import { createReceiver } from 'countersign'
    import { signedCallback } from 'countersign/testing'

    const subscription = { eventTypeName: 'a.b', callbackUrl: 'https://partner.example.com/hooks', secret: 'secret' }
    let claimed
    const isClaimed = new Promise((resolve) => (claimed = resolve))
    const store = { retentionMs: Infinity, claim: () => (claimed(), new Promise(() => {})) }
    const limits = { dependencyTimeoutMs: 600_000, stopTimeoutMs: 1 }
    const receiver = createReceiver({ subscriptions: [subscription], store, logger: false, ...limits })
    receiver.on('a.b', () => {})
    const server = createServer(receiver.requestListener()).listen(0, '127.0.0.1', async () => {
      const callback = signedCallback({ subscription })
      const hungUpOn = fetch(\`http://127.0.0.1:\${server.address().port}\${callback.path}\`, callback).catch(() => {})
      await isClaimed
      server.close()
      server.closeAllConnections()
      await hungUpOn
      await receiver.stop()
      console.log('stopped')
    })`
  const args = ['--input-type=module', '--eval', program]
  // Rejects unless the process ends with 0.
  expect(await promisify(execFile)(process.execPath, args, { timeout: LIMIT_MS })).toEqual({
    stdout: 'stopped\n',
    stderr: '',
  })
})
