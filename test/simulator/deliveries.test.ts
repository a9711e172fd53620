import { verifyCallback } from '../../src/signature/index.js'
import type { DeliverOptions, RetryPolicy } from '../../src/simulator/delivery.js'
import type { ServiceSimulatorOptions } from '../../src/simulator/options.js'
import type { ServiceSimulator } from '../../src/simulator/service-simulator.js'
import { collectedLog } from '../support/collected-log.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { serve } from '../support/hosts.js'
import { runReceiver, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { runSimulator } from './running-simulator.js'

interface Seen {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

interface Setup {
  readonly simulator: ServiceSimulator
  readonly seen: Seen[]
  readonly port: number
}

/** A simulator, and something that answers its deliveries with these statuses in turn, the last one from then on. */
async function answering(statuses: readonly number[], options: ServiceSimulatorOptions = {}): Promise<Setup> {
  const seen: Seen[] = []
  const port = await serve((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk) => chunks.push(chunk))
      .on('end', () => {
        const status = statuses[Math.min(seen.length, statuses.length - 1)]!
        seen.push({
          url: request.url!,
          headers: request.headers as Seen['headers'],
          body: Buffer.concat(chunks),
        })
        response.writeHead(status, { 'X-Answer': String(seen.length) }).end(`answer ${seen.length}`)
      })
  })
  const simulator = await runSimulator({ deliverTo: `http://127.0.0.1:${port}`, seed: 1, ...options })
  simulator.subscribe(subscription)
  return { simulator, seen, port }
}

const isGenuine = ({ headers, body }: Seen, { callbackUrl, secret } = subscription) =>
  verifyCallback({
    callbackUrl,
    secret,
    timestamp: headers['authorization-timestamp'],
    authorization: headers.authorization,
    body,
  }).valid

/** A request that never gets an answer. */
async function silent(): Promise<{ port: number; reached: Promise<void> }> {
  const { promise, resolve } = deferred()
  return { port: await serve(() => resolve()), reached: promise }
}

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

describe('retries', () => {
  const retry: RetryPolicy = { delaysMs: [1, 1, 1], timestamp: 'first' }

  it('end with the first 2xx', async () => {
    const { simulator, seen } = await answering([500, 409, 204, 500], { retry })
    const { attempts } = await simulator.deliver()
    expect(attempts.map(({ status }) => status)).toEqual([500, 409, 204])
    expect(seen[2]).toEqual({ ...seen[0] })
  })

  it('end with their delays', async () => {
    const { simulator } = await answering([500], { retry })
    expect((await simulator.deliver()).attempts).toHaveLength(4)
  })

  it('are signed anew where that is asked for, each with a signature of its own', async () => {
    const { simulator, seen } = await answering([500], { clock: fakeClock() })
    await simulator.deliver({ retry: { ...retry, timestamp: 'fresh' } })
    expect(new Set(seen.map(({ headers }) => headers.authorization)).size).toBe(4)
    expect(new Set(seen.map(({ headers }) => headers['x-idempotency-key'])).size).toBe(1)
    expect(seen.every((each) => isGenuine(each))).toBe(true)
  })

  it('follow a connection that was cut', async () => {
    const { simulator, seen } = await answering([200], { retry })
    const { attempts } = await simulator.deliver({ fault: 'cut-before-answer' })
    expect(attempts.map(({ status }) => status)).toEqual([undefined, 200])
    expect(seen).toHaveLength(2)
  })

  it('stop where isDelivered says so, and can be switched off', async () => {
    const { simulator } = await answering([409], {
      retry: { ...retry, isDelivered: (status) => status < 500 },
    })
    expect((await simulator.deliver()).attempts).toHaveLength(1)
    simulator.deliverTo('http://127.0.0.1:1')
    expect((await simulator.deliver({ retry: null })).attempts).toHaveLength(1)
  })

  it('go on while only a replay was taken', async () => {
    const { simulator } = await answering([500, 200, 200], { retry })
    const { attempts } = await simulator.deliver({ fault: 'rewritten-key' })
    expect(attempts.map(({ authenticity, status }) => [authenticity, status])).toEqual([
      ['genuine', 500],
      ['suspect', 200],
      ['genuine', 200],
    ])
  })

  it('are not made of forgeries', async () => {
    const { simulator } = await answering([401], { retry })
    expect((await simulator.deliver({ fault: 'wrong-secret' })).attempts).toHaveLength(1)
  })

  it('get a callback handled once by a receiver whose handler fails at first', async () => {
    const attempts: number[] = []
    const { port, handled } = await runReceiver({
      handler: (_event, { attempt }) => {
        attempts.push(attempt)
        if (attempts.length < 3) throw new Error('not yet')
      },
    })
    const { simulator } = await answering([200], { retry: { delaysMs: [1, 1, 1], timestamp: 'fresh' } })
    simulator.deliverTo(`http://127.0.0.1:${port}`)
    const delivery = await simulator.deliver()
    expect(delivery.attempts.map(({ status }) => status)).toEqual([500, 500, 200])
    simulator.assertNothingLost(handled)
  })
})

describe('deliverMany', () => {
  const list = Array.from({ length: 20 }, (_, index): DeliverOptions => ({ payload: { Id: String(index) } }))
  const ids = (seen: readonly Seen[]) => seen.map(({ body }) => JSON.parse(body.toString()).Id as string)

  it('delivers in the order of the list', async () => {
    const { simulator, seen } = await answering([200])
    const deliveries = await simulator.deliverMany(list)
    expect(ids(seen)).toEqual(list.map(({ payload }) => (payload as { Id: string }).Id))
    expect(deliveries.map(({ number }) => number)).toEqual(list.map((_, index) => index + 1))
  })

  it('delivers out of order, and in the same order again with the same seed', async () => {
    const orders = []
    for (const seed of [5, 5, 6]) {
      const { simulator, seen } = await answering([200], { seed })
      const deliveries = await simulator.deliverMany(list, { shuffle: true })
      expect(deliveries.map(({ number }) => number)).toEqual(list.map((_, index) => index + 1))
      orders.push({ ids: ids(seen), keys: seen.map(({ headers }) => headers['x-idempotency-key']) })
    }
    expect(orders[0]!.ids).not.toEqual([...orders[0]!.ids].sort((a, b) => Number(a) - Number(b)))
    expect(orders[1]).toEqual(orders[0])
    expect(orders[2]!.ids).not.toEqual(orders[0]!.ids)
  })

  it('delivers as many at a time as it is told', async () => {
    let most = 0
    const waiting: (() => void)[] = []
    const port = await serve((_request, response) => {
      most = Math.max(
        most,
        waiting.push(() => response.end()),
      )
      // None is answered before the fourth is there.
      if (waiting.length === 4) for (const answer of waiting.splice(0)) answer()
    })
    const { simulator } = await answering([200])
    simulator.deliverTo(`http://127.0.0.1:${port}`)
    const deliveries = await simulator.deliverMany(list, { concurrency: 4 })
    expect(deliveries.every(({ attempts }) => attempts[0]!.status === 200)).toBe(true)
    expect(most).toBe(4)
  })

  it('sends nothing when one of the list is wrong', async () => {
    const { simulator, seen } = await answering([200])
    await expect(simulator.deliverMany([{}, { fault: 'none' as never }])).rejects.toThrow('no fault "none"')
    expect(seen).toEqual([])
    expect(simulator.deliveries).toEqual([])
  })
})

describe('wrong use of deliver', () => {
  it.each<[DeliverOptions, string]>([
    [{ event: 'x' } as DeliverOptions, 'deliver has no option "event"'],
    [{ payload: {}, body: '{}' }, 'pass either payload or body'],
    [{ payload: () => {} }, 'payload of type function has no JSON form'],
    [{ eventTypeName: 'other' }, 'eventTypeName is "other": there is no such subscription'],
    [
      { subscription: { id: 'other' } as never },
      'subscription is not known: pass one of simulator.subscriptions',
    ],
    [{ subscription: subscription as never }, 'subscription is not known'],
    [{ retry: { delaysMs: [-1], timestamp: 'first' } }, 'retry.delaysMs is -1'],
    [{ retry: { delaysMs: [1], timestamp: 'again' as 'first' } }, 'retry.timestamp is "again"'],
    [{ timestamp: 'yesterday' }, 'timestamp must be a valid Date, or an HTTP date'],
    [{ fault: 'tampered', body: '' }, 'an empty body has no byte to change'],
  ])('is refused before anything is sent: %j', async (options, message) => {
    const { simulator, seen } = await answering([200])
    await expect(simulator.deliver(options)).rejects.toThrow(message)
    expect(seen).toEqual([])
    expect(simulator.deliveries).toEqual([])
  })

  it.each<[DeliverOptions, string]>([
    [{ payload: {}, body: '{}' }, 'payload'],
    [{ payload: () => {} }, 'payload'],
    [{ fault: 'tampered', body: '' }, 'fault'],
    [{ fault: 'previous-secret' }, 'fault'],
  ])('names the option in a field: %j', async (options, option) => {
    const { simulator } = await answering([200])
    await expect(simulator.deliver(options)).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
      owner: 'deliver',
      option,
    })
  })

  it('says that there is no subscription', async () => {
    const simulator = await runSimulator({ deliverTo: 'http://127.0.0.1:1' })
    await expect(simulator.deliver()).rejects.toThrow('create one with subscribe()')
  })
})

describe('the seed', () => {
  it('makes ids and keys, which are UUIDs, the same again', async () => {
    const runs = []
    for (const seed of [3, 3]) {
      const { simulator, seen } = await answering([200], { seed })
      await simulator.deliver()
      await simulator.deliver({ fault: 'rewritten-key' })
      runs.push(seen.map(({ headers, body }) => [headers['x-idempotency-key'], body.toString()]))
    }
    expect(runs[1]).toEqual(runs[0])
    expect(runs[0]![0]![0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  })

  it('makes neither the client secret nor the secret of a subscription', async () => {
    const [one, two] = [await runSimulator({ seed: 3 }), await runSimulator({ seed: 3 })]
    expect(one.credentials.clientSecret).not.toBe(two.credentials.clientSecret)
    const { secret: _, ...unsigned } = subscription
    expect(one.subscribe(unsigned).secret).not.toBe(two.subscribe(unsigned).secret)
  })

  it('is known where none was given', async () => {
    const [one, two] = [await runSimulator(), await runSimulator()]
    expect(one.seed).not.toBe(two.seed)
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
