import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createClient } from '../../src/client/index.js'
import { startServiceSimulator } from '../../src/simulator/service-simulator.js'
import type { ServiceSimulatorOptions } from '../../src/simulator/options.js'
import { deferred } from '../support/deferred.js'
import { serve } from '../support/hosts.js'
import { runReceiver, subscription } from '../support/running-receiver.js'
import { LIMIT_MS, until } from '../support/until.js'
import { runSimulator } from './running-simulator.js'

it('twenty run side by side, each with a port, subscriptions and deliveries of its own', async () => {
  const simulators = await Promise.all(Array.from({ length: 20 }, () => runSimulator()))
  expect(new Set(simulators.map(({ baseUrl }) => baseUrl)).size).toBe(20)
  const receivers = await Promise.all(
    simulators.map(async (simulator, index) => {
      const own = { ...subscription, secret: `secret of number ${index}` }
      const receiver = await runReceiver({ subscriptions: [own] })
      simulator.deliverTo(`http://127.0.0.1:${receiver.port}`)
      simulator.subscribe(own)
      return receiver
    }),
  )
  await Promise.all(
    simulators.map((simulator) => simulator.deliverMany([{}, { fault: 'twins' }, { fault: 'wrong-secret' }])),
  )
  for (const [index, simulator] of simulators.entries()) {
    const { handled } = receivers[index]!
    expect(handled).toHaveLength(2)
    simulator.assertNothingLost(handled)
    simulator.assertNothingForged(handled)
    simulator.assertNothingTwice(handled)
  }
})

describe('a subscription of the simulator', () => {
  it('can configure a receiver also if a client has created it, and after a rotation', async () => {
    const simulator = await runSimulator()
    const client = createClient({ baseUrl: simulator.baseUrl, ...simulator.credentials })
    await client.subscriptions.create({ ...subscription, description: 'by a client' })
    await client.close()
    const created = await simulator.subscribed()
    const secret = simulator.rotateSecret(created)
    for (const each of [created, { ...created, secret: [secret, created.previousSecret!] }]) {
      const { port, handled } = await runReceiver({ subscriptions: [each] })
      simulator.deliverTo(`http://127.0.0.1:${port}`)
      await simulator.deliver()
      await simulator.deliver({ fault: 'previous-secret' })
      expect(handled).toHaveLength([each.secret].flat().length)
    }
    expect(created).toMatchObject({ previousSecret: subscription.secret, idempotencyKey: expect.any(String) })
  })
})

describe('what subscribe returns', () => {
  it('is a subscription that a receiver can be configured with', async () => {
    const simulator = await runSimulator()
    const { callbackUrl, eventTypeName } = subscription
    const subscribed = [
      simulator.subscribe({ callbackUrl, eventTypeName }),
      simulator.subscribe({ callbackUrl, eventTypeName, id: 'tenant-2', description: 'the second' }),
    ]
    const { port, handled } = await runReceiver({ subscriptions: subscribed })
    simulator.deliverTo(`http://127.0.0.1:${port}`)
    const idempotencyKey = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
    for (const each of subscribed)
      await simulator.deliver({ subscription: each, idempotencyKey, fault: 'twins' })
    expect(handled.map((event) => event.subscription.id)).toEqual([subscribed[0]!.id, 'tenant-2'])

    // Two callbacks under one key, each of them handled once.
    simulator.assertNothingLost(handled)
    simulator.assertNothingTwice(handled)
    expect(simulator.report(handled.slice(1)).lost).toEqual([idempotencyKey])
    expect(simulator.report([...handled, handled[0]!]).handledTwice).toEqual([idempotencyKey])
  })

  it('has an id that no other subscription has', async () => {
    const simulator = await runSimulator()
    simulator.subscribe({ ...subscription, id: 'tenant-1' })
    expect(() => simulator.subscribe({ ...subscription, id: 'tenant-1' })).toThrow(
      'id is "tenant-1": another subscription has it',
    )
  })
})

describe('closing', () => {
  async function unanswered(options: ServiceSimulatorOptions = {}) {
    const { promise: reached, resolve } = deferred()
    const port = await serve(() => resolve())
    const simulator = await runSimulator({ deliverTo: `http://127.0.0.1:${port}`, ...options })
    simulator.subscribe(subscription)
    return { simulator, reached }
  }

  it.each([undefined, 'slow', 'twins'] as const)('ends what is being delivered: %s', async (fault) => {
    const { simulator, reached } = await unanswered()
    const delivering = simulator.deliver({ fault })
    await reached
    await simulator.close()
    expect((await delivering).attempts[0]).toMatchObject({ status: undefined, error: 'CLOSED' })
  })

  it('ends retries that wait', async () => {
    const simulator = await runSimulator({
      deliverTo: 'http://127.0.0.1:1',
      retry: { delaysMs: [2_000_000_000], timestamp: 'first' },
    })
    simulator.subscribe(subscription)
    const delivering = simulator.deliver()
    await until(() => simulator.deliveries[0]!.attempts.length === 1)
    await simulator.close()
    expect((await delivering).attempts).toHaveLength(1)
  })

  it('ends the rest of a list', async () => {
    const { simulator, reached } = await unanswered()
    const delivering = simulator.deliverMany([{}, {}, {}])
    await reached
    await simulator.close()
    const deliveries = await delivering
    expect(deliveries.flatMap(({ attempts }) => attempts.map(({ error }) => error))).toEqual([
      'CLOSED',
      'CLOSED',
      'CLOSED',
    ])
  })

  it('ends requests to the API that wait for their answer', async () => {
    const { promise: reached, resolve } = deferred()
    const { baseUrl, close } = await runSimulator({
      intercept: () => {
        resolve()
        return new Promise(() => {})
      },
    })
    const asking = fetch(baseUrl).catch((error: Error) => error.message)
    await reached
    await close()
    expect(await asking).toBe('fetch failed')
  })

  it('tells whoever waits for a subscription', async () => {
    const simulator = await runSimulator()
    const waiting = simulator.subscribed()
    await Promise.all([simulator.close(), expect(waiting).rejects.toMatchObject({ code: 'ERR_CLOSED' })])
  })

  it('can be done twice, and nothing is delivered after it', async () => {
    const simulator = await runSimulator({ deliverTo: 'http://127.0.0.1:1' })
    simulator.subscribe(subscription)
    await Promise.all([simulator.close(), simulator.close(), simulator[Symbol.asyncDispose]()])
    await expect(simulator.deliver()).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  })

  it('leaves nothing that keeps the process alive, nor a warning when much was under way', () => {
    const program = `
      import { startServiceSimulator } from 'countersign/simulator'
      const simulator = await startServiceSimulator({
        deliverTo: 'http://127.0.0.1:1', retry: { delaysMs: [2_000_000_000], timestamp: 'first' },
      })
      simulator.subscribe({ eventTypeName: 'x', callbackUrl: 'https://partner.example.com/' })
      const { signal } = new AbortController()
      void simulator.deliver({ fault: { kind: 'twins', count: 50 } })
      void simulator.deliver({ fault: { kind: 'twins', count: 50 }, signal })
      for (let count = 0; count < 50; count++) void simulator.deliver({ signal })
      await fetch(simulator.baseUrl).then((response) => response.text())
      await simulator.close()
      console.log('closed')`
    const args = ['--input-type=module', '--eval', program]
    const { stdout, stderr, status } = spawnSync(process.execPath, args, {
      cwd: join(__dirname, '../..'),
      encoding: 'utf8',
      timeout: LIMIT_MS,
    })
    expect({ stdout, stderr, status }).toEqual({ stdout: 'closed\n', stderr: '', status: 0 })
  })
})

describe('wrong options', () => {
  it.each<[ServiceSimulatorOptions, string]>([
    [{ Port: 0 } as ServiceSimulatorOptions, 'has no option "Port"'],
    [{ port: 70_000 }, 'port is 70000'],
    [{ clientId: 'no-uuid' }, 'clientId is not a UUID: use a UUID'],
    [{ clientSecret: 'white space' }, 'clientSecret is not of the form that the service gives out'],
    [{ clientSecret: 'x'.repeat(41) }, 'use 1 to 40 letters'],
    [{ tokenLifetimeSeconds: 0 }, 'tokenLifetimeSeconds is 0'],
    [{ seed: 1.5 }, 'seed is 1.5'],
    [{ answerTimeoutMs: 0 }, 'answerTimeoutMs is 0'],
    [{ clientSecretCase: 'maybe' as 'counts' }, 'clientSecretCase is "maybe": use one of counts, ignored'],
    [{ repeatedSubscription: 'x' as 'beside' }, 'use one of beside, replace'],
    [{ missingAccountField: 'x' as 'kept' }, 'use one of kept, cleared, refused'],
    [{ subscriptionResponse: { status: 99 } }, 'subscriptionResponse.status is 99'],
    [{ accountResponse: { status: 200, text: '' } as never }, 'accountResponse has no option "text"'],
    [{ refusalResponse: {} as never }, 'refusalResponse is of type object: pass a function'],
    [{ retry: { delaysMs: 5 } as never }, 'retry.delaysMs is 5: list delays'],
    [{ logger: {} as never }, 'logger is of type object'],
  ])('are refused: %j', async (options, message) => {
    await expect(startServiceSimulator(options)).rejects.toMatchObject({
      code: expect.stringMatching(/^ERR_OPTION_/),
      message: expect.stringContaining(message),
    })
  })

  it('never have a secret in their message', async () => {
    const clientSecret = 'a secret with spaces'
    await expect(startServiceSimulator({ clientSecret })).rejects.toMatchObject({
      message: expect.not.stringContaining(clientSecret),
    })
  })

  it('say when the port is taken', async () => {
    const { baseUrl } = await runSimulator()
    await expect(startServiceSimulator({ port: Number(new URL(baseUrl).port) })).rejects.toMatchObject({
      code: 'ERR_LISTEN_FAILED',
      message: expect.stringContaining('another program listens there'),
    })
  })

  it.each([
    [{ eventTypeName: '' }, 'eventTypeName is ""'],
    [{ eventTypeName: 'a\nb' }, 'eventTypeName is "a\\nb"'],
    [{ callbackUrl: 'https://X.example.com' }, 'must be spelled "https://x.example.com/"'],
    [{ secret: '' }, 'secret must not be empty'],
    [{ secretText: 'x' }, 'subscribe has no option "secretText"'],
    [{ id: '' }, 'id is "": use a text'],
  ])('of subscribe are refused: %j', async (options, message) => {
    const simulator = await runSimulator()
    expect(() => simulator.subscribe({ ...subscription, ...options })).toThrow(message)
  })
})
