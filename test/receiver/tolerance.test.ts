import { fakeClock } from '../support/fake-clock.js'
import { genuine, runReceiver, type RunOptions } from '../support/running-receiver.js'

/** The status of a callback that was signed this long before the receiver's clock. */
async function statusAt(ageMs: number, options: RunOptions = {}): Promise<number> {
  const clock = fakeClock()
  const { send } = await runReceiver({ clock, ...options })
  const timestamp = new Date(clock())
  clock.advance(ageMs)
  return (await send(genuine({ timestamp }))).status
}

describe('by default', () => {
  it('a callback may be 24 hours old, and not a millisecond more', async () => {
    expect(await statusAt(86_400_000)).toBe(200)
    expect(await statusAt(86_400_001)).toBe(401)
  })

  it('a callback may be five minutes ahead, and not a millisecond more', async () => {
    expect(await statusAt(-300_000)).toBe(200)
    expect(await statusAt(-300_001)).toBe(401)
  })
})

it('toleranceMs and futureToleranceMs may be as strict as no time at all', async () => {
  const strict = { toleranceMs: 0, futureToleranceMs: 0 }
  expect(await statusAt(0, strict)).toBe(200)
  expect(await statusAt(1, strict)).toBe(401)
  expect(await statusAt(-1, strict)).toBe(401)
})

it('a clock that gives no number lets nothing through', async () => {
  const { send, handled } = await runReceiver({ clock: () => NaN })
  expect((await send(genuine())).status).toBe(401)
  expect(handled).toEqual([])
})

it('what is still accepted is still remembered', async () => {
  const clock = fakeClock()
  const { send, outcomes } = await runReceiver({ clock, toleranceMs: 60_000, futureToleranceMs: 10_000 })
  // Accepted at the first moment that its signature is good for, and again at the last.
  const callback = genuine({ timestamp: new Date(clock() + 10_000) })
  await send(callback)
  clock.advance(70_000)
  await send(callback)
  clock.advance(1)
  await send(callback)
  expect(outcomes.map(({ code }) => code)).toEqual(['HANDLED', 'DUPLICATE', 'ERR_TIMESTAMP_OUT_OF_TOLERANCE'])
})
