import { NO_ENTRIES } from '../../src/inbox/states.js'
import type { InboxStats } from '../../src/inbox/operations.js'
import { InboxMetrics } from '../../src/telemetry/inbox-metrics.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'

const list = async () => ({ entries: [] })

describe('the figures of an inbox', () => {
  it('are read again after five seconds, and never while a read has not ended', async () => {
    const monotonic = fakeClock()
    const metrics = new InboxMetrics(Date.now, monotonic)
    const hanging = deferred()
    let reads = 0
    const stats = jest.fn(async () => ({ counts: { ...NO_ENTRIES, stored: ++reads } }))
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
      return { counts: { ...NO_ENTRIES, stored: 0 } }
    })
    monotonic.advance(5_000)
    const pass = fakeTimeouts()
    const reading = readable!.get()
    await pass(2_000)
    await reading
    monotonic.advance(60_000)
    expect((await readable!.get()).values).toEqual([{ labels: { inbox: 'default' }, value: 0 }])
    expect(await stored()).toBeUndefined()
    expect(stats).toHaveBeenCalledTimes(3)
    hanging.resolve()
    await hanging.promise
    await new Promise((resolve) => setImmediate(resolve))
    expect(await stored()).toBe(3)
  })

  it('are those of the read before while a large inbox is counted, for less than 30 seconds', async () => {
    const monotonic = fakeClock()
    const metrics = new InboxMetrics(Date.now, monotonic)
    const counts = [deferred<InboxStats>(), deferred<InboxStats>(), deferred<InboxStats>()]
    let reads = 0
    const stats = () => counts[reads++]!.promise
    metrics.observe('default', { stats, list })
    const [readable, entries] = metrics.metrics
    const pass = fakeTimeouts()
    const figures = async () => {
      const scrape = Promise.all([readable!.get(), entries!.get()])
      await pass(2_000)
      const [{ values }, { values: byState }] = await scrape
      return [values[0]!.value, byState.find(({ labels }) => labels['state'] === 'stored')?.value]
    }
    const end = async (found: InboxStats) => {
      counts[reads - 1]!.resolve(found)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await figures()).toEqual([0, undefined])
    await end({ counts: { ...NO_ENTRIES, stored: 1 } })
    monotonic.advance(15_000)
    expect(await figures()).toEqual([1, 1])
    await end({ counts: { ...NO_ENTRIES, stored: 2 } })
    monotonic.advance(15_000)
    expect(await figures()).toEqual([1, 2])
    monotonic.advance(29_999)
    expect(await figures()).toEqual([1, 2])
    monotonic.advance(1)
    expect(await figures()).toEqual([0, undefined])
    expect(reads).toBe(3)
  })

  it('are gone when a read fails after a scrape has waited for it', async () => {
    const monotonic = fakeClock()
    const metrics = new InboxMetrics(Date.now, monotonic)
    const hanging = deferred<InboxStats>()
    const stats = jest.fn(async (): Promise<InboxStats> => ({ counts: NO_ENTRIES }))
    metrics.observe('default', { stats, list })
    const [readable] = metrics.metrics
    expect((await readable!.get()).values).toMatchObject([{ value: 1 }])
    stats.mockImplementationOnce(() => hanging.promise)
    monotonic.advance(5_000)
    const pass = fakeTimeouts()
    const scrape = readable!.get()
    await pass(2_000)
    expect((await scrape).values).toMatchObject([{ value: 1 }])
    hanging.reject(new Error('the connection was lost'))
    await new Promise((resolve) => setImmediate(resolve))
    expect((await readable!.get()).values).toMatchObject([{ value: 0 }])
  })

  it('are read once for those who share an inbox, and are gone once nobody observes it', async () => {
    const metrics = new InboxMetrics(Date.now)
    const stats = jest.fn(async () => ({ counts: NO_ENTRIES }))
    const ends = ['shared', 'shared'].map((name) => metrics.observe(name, { stats, list }))
    const [readable] = metrics.metrics
    expect((await readable!.get()).values).toHaveLength(1)
    expect(stats).toHaveBeenCalledTimes(1)
    for (const end of ends) end()
    expect((await readable!.get()).values).toEqual([])
  })
})
