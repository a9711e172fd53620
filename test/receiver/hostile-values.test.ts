import fc from 'fast-check'
import { setImmediate as nextTick } from 'node:timers/promises'
import pino from 'pino'
import { createReceiver, type Subscription } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { hostileValue, revoked } from '../support/hostile-values.js'
import { interposed } from '../support/interposed-inbox.js'
import { randomRuns } from '../support/random-runs.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { storeWith } from '../support/stores.js'

const key = (number: number) => `3f2504e0-4f89-41d3-9a0c-${String(number).padStart(12, '0')}`

// Either would have ended the process.
const uncaught: unknown[] = []
const onUncaught = (error: unknown) => uncaught.push(error)
beforeAll(() => process.on('unhandledRejection', onUncaught).on('uncaughtException', onUncaught))
afterEach(async () => {
  await nextTick()
  expect(uncaught.splice(0).length).toBe(0)
})
afterAll(() => process.off('unhandledRejection', onUncaught).off('uncaughtException', onUncaught))

const throws = (make: () => unknown) => (): never => {
  throw make()
}
const rejects = (make: () => unknown) => async (): Promise<never> => {
  throw make()
}
const thrower = fc.tuple(hostileValue, fc.constantFrom(throws, rejects)).map(([make, how]) => how(make))

let sent = 0
const next = () => genuine({ idempotencyKey: key(++sent), payload: { Id: String(sent) } })

describe('a hostile value', () => {
  it('that a handler throws is a handler that failed, and goes to the listeners and the log', async () => {
    const pinoLines: string[] = []
    let handler: () => unknown = () => {}
    const { send, outcomes } = await runReceiver({
      handler: () => handler(),
      logger: pino({}, { write: (line: string) => pinoLines.push(line) }),
    })
    await fc.assert(
      fc.asyncProperty(thrower, async (hostile) => {
        handler = hostile
        const before = pinoLines.length
        expect((await send(next())).status).toBe(500)
        expect(outcomes.at(-1)).toMatchObject({ code: 'ERR_HANDLER_FAILED' })
        expect(pinoLines.slice(before).map((line) => JSON.parse(line).code)).toEqual(['ERR_HANDLER_FAILED'])
      }),
      { numRuns: randomRuns(100) },
    )
    handler = () => {}
    expect((await send(next())).status).toBe(200)
  })

  it('that a handler returns does no more than fail', async () => {
    let make: () => unknown = () => {}
    const { send } = await runReceiver({ handler: () => make() })
    await fc.assert(
      fc.asyncProperty(hostileValue, async (hostile) => {
        make = hostile
        expect([200, 500]).toContain((await send(next())).status)
      }),
      { numRuns: randomRuns(100) },
    )
  })

  it('that a handler throws has its entry retried, and the worker goes on', async () => {
    let handler: () => unknown = () => {}
    const { send, entries, becomes } = await runInboxReceiver({ handler: () => handler(), maxAttempts: 1 })
    await fc.assert(
      fc.asyncProperty(thrower, async (hostile) => {
        handler = hostile
        await send(next())
        const { id } = (await entries()).at(-1)!
        const { reason } = await becomes(id, 'dead')
        expect(typeof reason).toBe('string')
        expect(reason!.length).toBeLessThanOrEqual(500)
      }),
      { numRuns: randomRuns(60) },
    )
    handler = () => {}
    await send(next())
    while ((await entries()).at(-1)!.state !== 'handled') await nextTick()
  })

  it('that a schema throws is a handler that failed', async () => {
    let hostile: () => unknown = () => {}
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => hostile() } } as never
    const { send } = await runReceiver({ schemas: { [subscription.eventTypeName]: schema } })
    await fc.assert(
      fc.asyncProperty(thrower, async (given) => {
        hostile = given
        expect((await send(next())).status).toBe(500)
      }),
      { numRuns: randomRuns(50) },
    )
  })

  it('that orderBy throws, returns or rejects with leaves the event without order', async () => {
    let hostile: () => unknown = () => {}
    const { send } = await runInboxReceiver({ orderBy: () => hostile() as string })
    await fc.assert(
      fc.asyncProperty(fc.oneof(thrower, hostileValue), async (given) => {
        hostile = given
        expect((await send(next())).status).toBe(200)
      }),
      { numRuns: randomRuns(50) },
    )
  })

  it('that subscriptions() throws, returns or rejects with has the sender told to come back', async () => {
    let hostile: () => unknown = () => {}
    const { send } = await runReceiver({ subscriptions: () => hostile() as Subscription[] })
    await fc.assert(
      fc.asyncProperty(fc.oneof(thrower, hostileValue), async (given) => {
        hostile = given
        expect((await send(next())).status).toBe(503)
      }),
      { numRuns: randomRuns(50) },
    )
  })

  it('that a listener throws changes nothing for the callback', async () => {
    let hostile: () => unknown = () => {}
    const { receiver, send } = await runReceiver({
      handler: () => {
        throw new Error('for onError')
      },
    })
    receiver.onOutcome(() => hostile()).onError(() => hostile())
    await fc.assert(
      fc.asyncProperty(fc.oneof(thrower, hostileValue), async (given) => {
        hostile = given
        expect((await send(next())).status).toBe(500)
      }),
      { numRuns: randomRuns(50) },
    )
  })

  it('that a logger throws or returns changes nothing for the callback', async () => {
    let hostile: () => unknown = () => {}
    const write = (() => hostile()) as () => void
    const { send } = await runReceiver({ logger: { debug: write, info: write, warn: write, error: write } })
    await fc.assert(
      fc.asyncProperty(fc.oneof(thrower, hostileValue), async (given) => {
        hostile = given
        expect((await send(next())).status).toBe(200)
      }),
      { numRuns: randomRuns(50) },
    )
  })

  it('that a store throws, resolves to or rejects with has the sender told to come back', async () => {
    let hostile: () => unknown = () => {}
    const store = storeWith({ claim: (() => hostile()) as never })
    const { send } = await runReceiver({ store, dependencyTimeoutMs: 50 })
    await fc.assert(
      fc.asyncProperty(fc.oneof(thrower, hostileValue), async (given) => {
        hostile = given
        expect((await send(next())).status).toBe(503)
      }),
      { numRuns: randomRuns(50) },
    )
  })

  it('that a store comes back with after its time changes nothing', async () => {
    const late: (() => void)[] = []
    const store = storeWith({
      claim: () =>
        new Promise((resolve) => {
          late.push(() => resolve(Object.defineProperty({}, 'state', { get: throws(revoked) }) as never))
        }),
    })
    const { send } = await runReceiver({ store, dependencyTimeoutMs: 1 })
    expect((await send(next())).status).toBe(503)
    late[0]!()
    await nextTick()
  })

  it('that an inbox throws or rejects with keeps neither callbacks from an answer nor the worker from going on', async () => {
    const { inbox, set } = interposed(new MemoryInbox())
    const { send, entries } = await runInboxReceiver({ inbox })
    await fc.assert(
      fc.asyncProperty(thrower, async (hostile) => {
        for (const method of ['add', 'claim', 'settle', 'extend', 'prune'] as const)
          set(method, hostile as never)
        expect((await send(next())).status).toBe(503)
        await nextTick()
      }),
      { numRuns: randomRuns(50) },
    )
    for (const method of ['add', 'claim', 'settle', 'extend', 'prune'] as const) set(method, undefined)
    expect((await send(next())).status).toBe(200)
    while ((await entries()).at(-1)!.state !== 'handled') await nextTick()
  })

  it('that a clock throws is an answer of 500', async () => {
    let hostile: () => unknown = Date.now
    const { send } = await runReceiver({ clock: () => hostile() as number })
    await fc.assert(
      fc.asyncProperty(hostileValue, async (make) => {
        hostile = throws(make)
        expect((await send(next())).status).toBe(500)
      }),
      { numRuns: randomRuns(50) },
    )
  })
})

it('a handler that spoils its event gets its answer and its log line', async () => {
  const { send, log } = await runReceiver({
    handler: (event) => {
      Reflect.deleteProperty(event, 'subscription')
    },
  })
  expect((await send(next())).status).toBe(200)
  expect(log.lines).toMatchObject([{ fields: { code: 'HANDLED', verified: true } }])
})

it('an error with the code of DoNotRetryError ends retries, whatever else it is', async () => {
  const { send, becomes } = await runInboxReceiver({
    handler: () => {
      throw Object.assign(Object.create(null), { code: 'ERR_DO_NOT_RETRY' })
    },
  })
  await send(next())
  await becomes('1', 'dead')
})

it('an error with the code of RetryLaterError is answered 503, whatever else it is', async () => {
  const { send } = await runReceiver({
    handler: () => {
      throw Object.assign(Object.create(null), { code: 'ERR_RETRY_LATER' })
    },
  })
  expect((await send(next())).status).toBe(503)
})

it('a receiver can be made with hostile subscriptions, or says what is wrong', () => {
  for (const list of [
    [null],
    [{ secret: revoked() }],
    [
      {
        get secret(): string {
          throw new Error('no')
        },
      },
    ],
  ]) {
    expect(() => createReceiver({ subscriptions: list as never, logger: false })).toThrow()
  }
})
