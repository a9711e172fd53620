import { NO_ENTRIES } from '../../src/inbox/no-entries.js'
import { InboxMetrics } from '../../src/telemetry/inbox-metrics.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'

const list = async () => []

describe('the figures of an inbox', () => {
  it('are read again after five seconds, and never while a read has not ended', async () => {
    const monotonic = fakeClock()
    const metrics = new InboxMetrics(Date.now, monotonic)
    const hanging = deferred()
    let reads = 0
    const stats = jest.fn(async () => ({ ...NO_ENTRIES, stored: ++reads }))
    metrics.observe('default', { stats, list })
    const [readable, entries] = metrics.metrics
    const stored = async () =>
      (await entries!.get()).values.find(({ labels }) => labels['state'] === 'stored')?.value
    expect(await stored()).toBe(1)
    monotonic.advance(4_999)
    expect(await stored()).toBe(1)
    monotonic.advance(1)
    expect(await stored()).toBe(2)

    stats.mockImplementationOnce(async () => {
      await hanging.promise
      return { ...NO_ENTRIES, stored: 0 }
    })
    monotonic.advance(5_000)
    const pass = fakeTimeouts()
    const reading = readable!.get()
    await pass(2_000)
    expect((await reading).values).toEqual([{ labels: { inbox: 'default' }, value: 0 }])
    monotonic.advance(60_000)
    expect(await stored()).toBeUndefined()
    expect(stats).toHaveBeenCalledTimes(3)
    hanging.resolve()
    await hanging.promise
    await new Promise((resolve) => setImmediate(resolve))
    expect(await stored()).toBe(3)
  })

  it('are read once for those who share an inbox, and are gone once nobody observes it', async () => {
    const metrics = new InboxMetrics(Date.now)
    const stats = jest.fn(async () => NO_ENTRIES)
    const ends = ['shared', 'shared'].map((name) => metrics.observe(name, { stats, list }))
    const [readable] = metrics.metrics
    expect((await readable!.get()).values).toHaveLength(1)
    expect(stats).toHaveBeenCalledTimes(1)
    for (const end of ends) end()
    expect((await readable!.get()).values).toEqual([])
  })
})
