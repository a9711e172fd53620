import { formatHttpDate } from '../../src/signature/timestamp.js'
import type { Delivery, DeliverOptions } from '../../src/simulator/delivery.js'
import type { ServiceSimulatorOptions } from '../../src/simulator/options.js'
import { fakeClock } from '../support/fake-clock.js'
import { serve } from '../support/hosts.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { runReceiver, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { runSimulator } from './running-simulator.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const RECEIVERS = { inline: runReceiver, inbox: runInboxReceiver } as const

/** What a right receiver makes of one callback, and what the report makes of that. */
async function delivered(
  name: keyof typeof RECEIVERS,
  delivery: DeliverOptions,
  options: Pick<ServiceSimulatorOptions, 'toleranceMs' | 'futureToleranceMs'> = {},
) {
  const { port, handled } = await RECEIVERS[name](options)
  const simulator = await runSimulator({ deliverTo: `http://127.0.0.1:${port}`, ...options })
  simulator.subscribe(subscription)
  const result: Delivery = await simulator.deliver(delivery)
  await until(() => handled.length >= (result.genuine ? 1 : 0))
  return { simulator, handled, ...result }
}

describe.each(['inline', 'inbox'] as const)('a receiver, %s, that is right is found right', (name) => {
  it.each<[string, DeliverOptions, Parameters<typeof delivered>[2]?]>([
    ['late', { fault: { kind: 'late', byMs: HOUR } }, {}],
    ['early', { fault: { kind: 'early', byMs: MINUTE } }, {}],
    ['signed an hour ago', { timestamp: new Date(Date.now() - HOUR) }, {}],
    ['late, as far as its own tolerance allows', { fault: 'late' }, { toleranceMs: 72 * HOUR }],
    ['early, as far as its own tolerance allows', { fault: 'early' }, { futureToleranceMs: 2 * HOUR }],
  ])('within its tolerance: %s', async (_what, delivery, options) => {
    const { simulator, handled, attempts, genuine } = await delivered(name, delivery, options)
    expect({ attempts, genuine }).toMatchObject({
      attempts: [{ status: 200, authenticity: 'genuine' }],
      genuine: true,
    })
    expect(handled).toHaveLength(1)
    simulator.assertNothingLost(handled)
    simulator.assertNothingSuspect(handled)
    expect(Object.values(simulator.report(handled)).flat()).toEqual([])
    expect(() => simulator.assertNothingLost([])).toThrow('answered 2xx and never handled')
  })

  it.each<[string, DeliverOptions, Parameters<typeof delivered>[2]?]>([
    ['late', { fault: 'late' }, {}],
    ['early', { fault: 'early' }, {}],
    ['signed two days ago', { timestamp: new Date(Date.now() - 48 * HOUR) }, {}],
    ['signed two days ago, as a text', { timestamp: formatHttpDate(new Date(Date.now() - 48 * HOUR)) }, {}],
    [
      'late for a tolerance of its own',
      { fault: { kind: 'late', byMs: HOUR } },
      { toleranceMs: 30 * MINUTE },
    ],
    [
      'early for a tolerance of its own',
      { fault: { kind: 'early', byMs: MINUTE } },
      { futureToleranceMs: 0 },
    ],
  ])('outside its tolerance: %s', async (_what, delivery, options) => {
    const { simulator, handled, attempts, genuine, idempotencyKey } = await delivered(name, delivery, options)
    expect({ attempts, genuine }).toMatchObject({
      attempts: [{ status: name === 'inline' ? 401 : 200, authenticity: 'suspect' }],
      genuine: false,
    })
    expect(handled).toEqual([])
    simulator.assertNothingLost(handled)
    simulator.assertNothingSuspect(handled)
    expect(Object.values(simulator.report(handled)).flat()).toEqual([])
    expect(() => simulator.assertNothingSuspect([idempotencyKey])).toThrow(
      `1 callback was suspect, and handled:\n  ${idempotencyKey} (delivery 1,`,
    )
  })
})

it.each(['rewritten-key', 'rewritten-type', 'not-json'] as const)(
  'what is handled of %s although it is suspect is found by an assertion',
  async (fault) => {
    const { simulator, attempts } = await delivered('inline', { fault })
    const suspects = attempts.filter(({ authenticity }) => authenticity === 'suspect')
    expect(() => simulator.assertNothingSuspect(suspects)).toThrow('1 callback was suspect, and handled')
    expect(() => simulator.assertNothingSuspect([])).not.toThrow()
  },
)

it('a retry that comes too late is suspect, and one that is signed anew is not', async () => {
  const port = await serve((_request, response) => response.writeHead(500).end())
  for (const timestamp of ['first', 'fresh'] as const) {
    const clock = fakeClock()
    const simulator = await runSimulator({ deliverTo: `http://127.0.0.1:${port}`, clock })
    simulator.subscribe(subscription)
    const isDelivered = () => {
      clock.advance(25 * HOUR)
      return false
    }
    const delivery = await simulator.deliver({ retry: { delaysMs: [1], timestamp, isDelivered } })
    expect(delivery.attempts.map(({ authenticity }) => authenticity)).toEqual([
      'genuine',
      timestamp === 'first' ? 'suspect' : 'genuine',
    ])
  }
})

it.each([{ toleranceMs: -1 }, { toleranceMs: 1.5 }, { futureToleranceMs: Number.NaN }])(
  'a tolerance that cannot be is refused: %j',
  async (options) => {
    await expect(runSimulator(options)).rejects.toThrow(/olerance/)
  },
)
