import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FAULTS, rightAnswers, type Fault, type FaultKind } from '../../src/simulator/fault.js'
import type { Delivery } from '../../src/simulator/delivery.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { runReceiver, subscription, type RunningReceiver } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { NEXT_SECRET, PREVIOUS_SECRET, simulatorFor } from './rotated-simulator.js'

const KINDS = Object.keys(FAULTS) as FaultKind[]

/** With every secret that a receiver has during a rotation. */
const rotating = {
  ...subscription,
  secret: [subscription.secret, PREVIOUS_SECRET, NEXT_SECRET],
}

const RECEIVERS = {
  inline: () => runReceiver({ subscriptions: [rotating] }),
  inbox: () => runInboxReceiver({ subscriptions: [rotating] }),
} as const satisfies Record<string, () => Promise<RunningReceiver>>

function faultOf(kind: FaultKind): Fault {
  if (kind === 'next-secret') return { kind, secret: NEXT_SECRET }
  return kind === 'slow' ? { kind, overMs: 50 } : { kind }
}

const statuses = ({ attempts }: Delivery) => attempts.map(({ status }) => status)

describe.each(Object.keys(RECEIVERS) as (keyof typeof RECEIVERS)[])('a receiver, %s,', (name) => {
  it('answers what is delivered without a fault', async () => {
    const { port, handled } = await RECEIVERS[name]()
    const simulator = await simulatorFor(port)
    const delivery = await simulator.deliver({ payload: { Id: 'x', more: 1 } })
    expect(statuses(delivery)).toEqual([200])
    await until(() => handled.length === 1)
    expect(handled[0]).toMatchObject({
      idempotencyKey: delivery.idempotencyKey,
      payload: { Id: 'x', more: 1 },
    })
  })

  it.each(KINDS)('answers as the table says, loses nothing and takes no forgery: %s', async (kind) => {
    const { port, handled } = await RECEIVERS[name]()
    const simulator = await simulatorFor(port)
    const delivery = await simulator.deliver({ fault: faultOf(kind) })
    for (const [index, { status }] of delivery.attempts.entries()) {
      const right = rightAnswers(kind, name, index)
      if (right.length === 0) expect(status).toBeUndefined()
      else expect(right).toContain(status)
    }
    const accepted = delivery.attempts.some(
      ({ status, authenticity }) => status === 200 && authenticity === 'genuine',
    )
    await until(() => handled.length >= (accepted ? 1 : 0))
    simulator.assertNothingLost(handled)
    simulator.assertNothingForged(handled)
    simulator.assertNothingTwice(handled)
    expect(simulator.report(handled).suspectHandled).toEqual([])
  })
})

const documented = readFileSync(join(__dirname, '../../docs/simulator.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()))

test.each(KINDS)('the documentation has the row of %s', (kind) => {
  const titles = documented.find((cells) => cells.includes('without an inbox')) ?? []
  const row = documented.find((cells) => cells[1] === `\`${kind}\``) ?? []
  const [inline, inbox] = ['without an inbox', 'with an inbox'].map((title) => row[titles.indexOf(title)])
  const text = (answers: readonly (readonly number[])[]) =>
    answers.map((each) => (each.length > 0 ? each.join(' or ') : 'none')).join(', then ')
  expect([inline, inbox]).toEqual([text(FAULTS[kind].inline), text(FAULTS[kind].inbox)])
})
