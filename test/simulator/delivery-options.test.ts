import type { DeliverOptions, RetryPolicy } from '../../src/simulator/delivery.js'
import { fakeClock } from '../support/fake-clock.js'
import { serve } from '../support/hosts.js'
import { runReceiver, subscription } from '../support/running-receiver.js'
import { runSimulator } from './running-simulator.js'
import { answering, isGenuine, type Seen } from './answering.js'

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
    [{ retry: { delaysMs: [-1], timestamp: 'first' } }, 'retry'],
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
