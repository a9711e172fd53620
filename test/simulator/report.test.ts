import { AssertionError } from 'node:assert'
import { randomUUID } from 'node:crypto'
import type { DeliverOptions } from '../../src/simulator/delivery.js'
import type { ServiceSimulator } from '../../src/simulator/service-simulator.js'
import { serve } from '../support/hosts.js'
import { subscription } from '../support/subscription.js'
import { runSimulator } from './running-simulator.js'

const NOTHING = {
  lost: [],
  refused: [],
  unanswered: [],
  forgedHandled: [],
  forgedAccepted: [],
  suspectHandled: [],
  handledTwice: [],
  neverDelivered: [],
}

/** One delivery to something that answers everything with this status. */
async function delivered(
  status: number,
  options: DeliverOptions = {},
): Promise<{ simulator: ServiceSimulator; key: string }> {
  const port = await serve((_request, response) => response.writeHead(status).end())
  const simulator = await runSimulator({ deliverTo: `http://127.0.0.1:${port}` })
  simulator.subscribe(subscription)
  const { idempotencyKey } = await simulator.deliver(options)
  return { simulator, key: idempotencyKey }
}

describe('the report', () => {
  it('is empty when all is well', async () => {
    const { simulator, key } = await delivered(200)
    expect(simulator.report([key])).toEqual(NOTHING)
  })

  it('takes events as well as keys, and keys in either case', async () => {
    const { simulator, key } = await delivered(200)
    expect(simulator.report([{ idempotencyKey: key.toUpperCase() }])).toEqual(NOTHING)
  })

  it('calls lost what was answered 2xx and not handled', async () => {
    const { simulator, key } = await delivered(204)
    expect(simulator.report([])).toEqual({ ...NOTHING, lost: [key] })
  })

  it('calls refused what was answered otherwise', async () => {
    const { simulator, key } = await delivered(500)
    expect(simulator.report([])).toEqual({ ...NOTHING, refused: [key] })
  })

  it('calls unanswered what was not answered', async () => {
    const { simulator, key } = await delivered(200, { fault: 'cut-before-answer' })
    expect(simulator.report([])).toEqual({ ...NOTHING, unanswered: [key] })
  })

  it('calls a forgery handled, and accepted', async () => {
    const { simulator, key } = await delivered(200, { fault: 'wrong-secret' })
    expect(simulator.report([key])).toEqual({ ...NOTHING, forgedHandled: [key], forgedAccepted: [key] })
  })

  it('does not miss a forgery that was refused', async () => {
    const { simulator } = await delivered(401, { fault: 'wrong-secret' })
    expect(simulator.report([])).toEqual(NOTHING)
  })

  it('does not call lost what is suspect and was kept in quarantine', async () => {
    const { simulator, key } = await delivered(200, { fault: 'late' })
    expect(simulator.report([])).toEqual(NOTHING)
    expect(simulator.report([key])).toEqual({ ...NOTHING, suspectHandled: [key] })
  })

  it('tells the two keys of a replay apart', async () => {
    const { simulator, key } = await delivered(200, { fault: 'rewritten-key' })
    const [, replay] = simulator.deliveries[0]!.attempts
    expect(simulator.report([key])).toEqual(NOTHING)
    expect(simulator.report([replay!])).toEqual({
      ...NOTHING,
      lost: [key],
      suspectHandled: [replay!.idempotencyKey],
    })
  })

  it('finds what was handled twice, and what was never delivered', async () => {
    const { simulator, key } = await delivered(200)
    const stranger = randomUUID()
    expect(simulator.report([key, stranger, key])).toEqual({
      ...NOTHING,
      handledTwice: [key],
      neverDelivered: [stranger],
    })
  })
})

describe('an assertion', () => {
  it('says what was lost, and how it was answered', async () => {
    const { simulator, key } = await delivered(200, { fault: 'repeat' })
    expect(() => simulator.assertNothingLost([key])).not.toThrow()
    const message = `1 callback was answered 2xx and never handled:\n  ${key} (delivery 1, repeat: answered 200, 200)`
    expect(() => simulator.assertNothingLost([])).toThrow(new AssertionError({ message }))
    expect(() => simulator.assertNothingLost([])).toThrow(AssertionError)
  })

  it('says what was forged', async () => {
    const { simulator, key } = await delivered(200, { fault: 'tampered' })
    expect(() => simulator.assertNothingForged([key])).toThrow(
      `1 callback was forged, and handled:\n  ${key}`,
    )
    expect(() => simulator.assertNothingForged([])).toThrow('1 callback was forged, and answered 2xx')
  })

  it('says what was never delivered', async () => {
    const { simulator, key } = await delivered(200)
    expect(() => simulator.assertNothingForged([key])).not.toThrow()
    expect(() => simulator.assertNothingForged(['a', 'b'])).toThrow(
      '2 callbacks were handled, and never delivered:\n  a\n  b',
    )
  })

  it('says what was handled twice', async () => {
    const { simulator, key } = await delivered(200)
    expect(() => simulator.assertNothingTwice([key])).not.toThrow()
    expect(() => simulator.assertNothingTwice([key, key])).toThrow('1 callback was handled more than once')
  })
})
