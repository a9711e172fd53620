import { collectedLog } from '../support/collected-log.js'
import { fakeClock } from '../support/fake-clock.js'
import { runReceiver, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { runSimulator } from './running-simulator.js'
import { answering, isGenuine, silent } from './answering.js'

describe('a delivery', () => {
  it('goes to deliverTo, and is signed and addressed as subscribed', async () => {
    const { simulator, seen } = await answering([200])
    const delivery = await simulator.deliver()
    expect(seen).toHaveLength(1)
    expect(isGenuine(seen[0]!)).toBe(true)
    expect(seen[0]).toMatchObject({
      url: '/hooks/transfers',
      headers: {
        host: 'partner.example.com',
        'x-event-type': 'transfers.book-completed',
        'x-idempotency-key': delivery.idempotencyKey,
      },
    })
    expect(JSON.parse(seen[0]!.body.toString())).toEqual({ Id: expect.stringMatching(/^[\da-f-]{36}$/) })
  })

  it('records the answer', async () => {
    const { simulator, seen } = await answering([202])
    const delivery = await simulator.deliver()
    expect(delivery).toEqual({
      number: 1,
      idempotencyKey: seen[0]!.headers['x-idempotency-key'],
      eventType: 'transfers.book-completed',
      fault: undefined,
      subscription: simulator.subscriptions[0],
      body: seen[0]!.body,
      genuine: true,
      attempts: [
        {
          idempotencyKey: delivery.idempotencyKey,
          eventType: 'transfers.book-completed',
          authenticity: 'genuine',
          timestamp: seen[0]!.headers['authorization-timestamp'],
          isRetry: false,
          status: 202,
          headers: expect.objectContaining({ 'x-answer': '1' }),
          body: Buffer.from('answer 1'),
          durationMs: expect.any(Number),
        },
      ],
    })
    expect(simulator.deliveries).toEqual([delivery])
  })

  it('carries the key, the body and the timestamp that it is given', async () => {
    const { simulator, seen } = await answering([200])
    const timestamp = 'Tuesday, 03-Nov-26 09:14:27 GMT'
    await simulator.deliver({ idempotencyKey: 'KEY', body: ' {"Id":"ä"}', timestamp })
    expect(seen[0]).toMatchObject({
      headers: { 'x-idempotency-key': 'KEY', 'authorization-timestamp': timestamp },
      body: Buffer.from(' {"Id":"ä"}'),
    })
    expect(isGenuine(seen[0]!)).toBe(true)
  })

  it('is signed by the clock that it is given', async () => {
    const { simulator, seen } = await answering([200], { clock: fakeClock() })
    await simulator.deliver()
    expect(seen[0]!.headers['authorization-timestamp']).toBe('Tue, 03 Nov 2026 09:14:27 GMT')
  })

  it('goes to the callback URL itself where that is of this machine', async () => {
    const { simulator, seen, port } = await answering([200])
    const local = await runSimulator()
    const callbackUrl = `http://127.0.0.1:${port}/own?path=1`
    local.subscribe({ ...subscription, callbackUrl })
    await local.deliver()
    expect(seen).toMatchObject([{ url: '/own?path=1', headers: { host: `127.0.0.1:${port}` } }])
    expect(isGenuine(seen[0]!, { ...subscription, callbackUrl })).toBe(true)
    expect(simulator.deliveries).toEqual([])
  })

  it('belongs to the latest subscription, the latest of an event type, or the one given', async () => {
    const { simulator, seen } = await answering([200])
    const first = simulator.subscriptions[0]!
    simulator.subscribe({ ...subscription, eventTypeName: 'accounts.closed', secret: 'other' })
    await simulator.deliver()
    await simulator.deliver({ eventTypeName: subscription.eventTypeName })
    await simulator.deliver({ subscription: first })
    expect(seen.map(({ headers }) => headers['x-event-type'])).toEqual([
      'accounts.closed',
      'transfers.book-completed',
      'transfers.book-completed',
    ])
    expect(isGenuine(seen[0]!, { ...subscription, secret: 'other' })).toBe(true)
  })

  it('finds a receiver that was started again on another port', async () => {
    const { simulator } = await answering([200])
    const other = await runReceiver()
    simulator.deliverTo(`http://127.0.0.1:${other.port}`)
    expect((await simulator.deliver()).attempts).toMatchObject([{ status: 200 }])
    expect(other.handled).toHaveLength(1)
    const third = await runReceiver()
    simulator.deliverTo(() => `http://localhost:${third.port}`)
    await simulator.deliver()
    expect(third.handled).toHaveLength(1)
  })

  it('is signed with the new secret after rotateSecret()', async () => {
    const { simulator, seen } = await answering([200])
    const secret = simulator.rotateSecret(simulator.subscriptions[0]!)
    await simulator.deliver()
    expect([isGenuine(seen[0]!), isGenuine(seen[0]!, { ...subscription, secret })]).toEqual([false, true])
    expect(simulator.subscriptions[0]).toMatchObject({ secret, previousSecret: subscription.secret })
  })

  it('without an answer says why', async () => {
    const { simulator } = await answering([200])
    simulator.deliverTo('http://127.0.0.1:1')
    expect((await simulator.deliver()).attempts).toMatchObject([{ status: undefined, error: 'ECONNREFUSED' }])
    expect((await simulator.deliver({ fault: 'slow' })).attempts).toMatchObject([{ error: 'ECONNREFUSED' }])
    expect((await simulator.deliver({ fault: 'cut-in-body' })).attempts).toMatchObject([
      { error: 'ECONNREFUSED' },
    ])
  })

  it.each([undefined, { kind: 'slow', overMs: 1 }] as const)(
    'with an answer that does not end in time is given up: %j',
    async (fault) => {
      // The end of the connection would be the end of this answer (RFC 9112, section 6.3).
      const { port } = await silent('HTTP/1.1 200 OK\r\n\r\nx')
      const { simulator } = await answering([200], { answerTimeoutMs: 100 })
      simulator.deliverTo(`http://127.0.0.1:${port}`)
      expect((await simulator.deliver({ fault })).attempts).toMatchObject([{ error: 'ERR_RESPONSE_TIMEOUT' }])
    },
  )

  it('that is answered 101 without a request for it ends with that answer', async () => {
    const { port } = await silent(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    )
    const { simulator } = await answering([200])
    simulator.deliverTo(`http://127.0.0.1:${port}`)
    const { attempts } = await simulator.deliver({ fault: { kind: 'slow', overMs: 1 } })
    expect(attempts).toMatchObject([{ status: 101 }])
  })

  it.each([undefined, { kind: 'slow', overMs: 1 }] as const)(
    'that is not answered in time is given up: %j',
    async (fault) => {
      const { port } = await silent()
      const { simulator } = await answering([200], { answerTimeoutMs: 30 })
      simulator.deliverTo(`http://127.0.0.1:${port}`)
      expect((await simulator.deliver({ fault })).attempts).toMatchObject([{ error: 'ERR_RESPONSE_TIMEOUT' }])
    },
  )

  it('ends with the signal that it is given, and is recorded', async () => {
    const { port, reached } = await silent()
    const { simulator } = await answering([200])
    simulator.deliverTo(`http://127.0.0.1:${port}`)
    const controller = new AbortController()
    const delivering = simulator.deliver({ signal: controller.signal })
    await reached
    controller.abort(new Error('enough'))
    await expect(delivering).rejects.toThrow('enough')
    expect(simulator.deliveries).toMatchObject([{ attempts: [{ status: undefined }] }])
  })

  it('leaves no secret and no signature in the log', async () => {
    const log = collectedLog()
    const { simulator, seen } = await answering([200], { logger: log })
    await simulator.deliver()
    await simulator.deliver({ fault: 'rewritten-key' })
    expect(log.lines).toHaveLength(3)
    expect(log.text()).not.toContain(subscription.secret)
    for (const { headers } of seen) expect(log.text()).not.toContain(headers.authorization!.slice(-44))
  })
})

describe('only this machine is connected to', () => {
  it.each([
    'https://127.0.0.1:3000',
    'http://partner.example.com',
    'http://127.0.0.1.example.com:3000',
    'http://127.0.0.1@example.com',
    'http://user:password@127.0.0.1:3000',
    'http://0.0.0.0:3000',
    'http://10.0.0.1:3000',
    'http://[::2]:3000',
    'http://localhost.example.com',
    'http://localhost.:3000',
    'http://127.0.0.1:3000/path',
    'http://127.0.0.1:3000/?query',
    '127.0.0.1:3000',
    '',
    null,
  ])('not %j', async (deliverTo) => {
    const refusal = {
      code: 'ERR_OPTION_INVALID',
      message: expect.stringContaining('loopback origin over http'),
    }
    const given = deliverTo as string
    await expect(runSimulator({ deliverTo: given })).rejects.toMatchObject(refusal)
    const simulator = await runSimulator({ deliverTo: () => given })
    simulator.subscribe(subscription)
    await expect(simulator.deliver()).rejects.toMatchObject(refusal)
    expect(() => simulator.deliverTo(given)).toThrow('loopback origin over http')
    expect(simulator.deliveries).toEqual([])
  })

  it.each([
    'http://127.0.0.1:3000',
    'http://127.1.2.3',
    'http://[::1]:3000/',
    'http://LOCALHOST:3000',
    'http://0x7f.1',
  ])('but %s', async (deliverTo) => {
    await expect(runSimulator({ deliverTo })).resolves.toBeDefined()
  })

  it('and where nothing says where, the error says how to', async () => {
    const simulator = await runSimulator()
    simulator.subscribe(subscription)
    await expect(simulator.deliver()).rejects.toThrow('say with deliverTo where the receiver listens')
  })

  it('never repeats a password', async () => {
    await expect(runSimulator({ deliverTo: 'http://me:pass-word@127.0.0.1' })).rejects.toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('pass-word') }),
    )
  })
})

it('deliveries are seen while they are under way', async () => {
  const { port, reached } = await silent()
  const { simulator } = await answering([200])
  simulator.deliverTo(`http://127.0.0.1:${port}`)
  const delivering = simulator.deliver()
  await reached
  expect(simulator.deliveries).toMatchObject([{ number: 1, attempts: [] }])
  await simulator.close()
  await delivering
  await until(() => simulator.deliveries[0]!.attempts.length === 1)
})
