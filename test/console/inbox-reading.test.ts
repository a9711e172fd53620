import { setImmediate as nextTick } from 'node:timers/promises'
import { InboxReading } from '../../src/console/inbox-reading.js'
import { NO_ENTRIES } from '../../src/inbox/states.js'
import { fakeClock } from '../support/fake-clock.js'

function counting() {
  const calls = { stats: 0, activity: 0 }
  let fails = false
  let durationMs = 0
  let paused = Promise.resolve()
  const now = fakeClock(0)
  const inbox = {
    async stats() {
      calls.stats++
      await paused
      now.advance(durationMs)
      if (fails) throw new Error('not readable')
      return { counts: NO_ENTRIES }
    },
    async activity() {
      calls.activity++
      return []
    },
    async list() {
      return { entries: [] }
    },
  }
  return {
    calls,
    now,
    reading: new InboxReading(inbox, now),
    fail: (value: boolean) => (fails = value),
    /** How long each reading takes from now on. */
    takes: (ms: number) => (durationMs = ms),
    /** Readings end when the result is called. */
    pause: () => {
      let end = () => {}
      paused = new Promise((resolve) => (end = resolve))
      return end
    },
  }
}

const HOUR = { from: 0, to: 3_600_000, bucketMs: 60_000 }

it('counts the states at most once a second, however many ask', async () => {
  const { calls, now, reading } = counting()
  for (let asked = 0; asked < 100; asked++) await reading.stats()
  expect(calls.stats).toBe(1)
  now.advance(1_000)
  await reading.stats()
  expect(calls.stats).toBe(2)
})

it('reads each period of the chart at most once in four seconds', async () => {
  const { calls, now, reading } = counting()
  for (let asked = 0; asked < 100; asked++) await reading.activity(HOUR)
  expect(calls.activity).toBe(1)
  await reading.activity({ ...HOUR, bucketMs: 30_000 })
  expect(calls.activity).toBe(2)
  now.advance(4_000)
  await reading.activity(HOUR)
  expect(calls.activity).toBe(3)
})

it('reads again after a decision and after a failure', async () => {
  const { calls, reading, fail } = counting()
  await reading.stats()
  await reading.activity(HOUR)
  reading.forget()
  await reading.activity(HOUR)
  fail(true)
  await expect(reading.stats()).rejects.toThrow('not readable')
  fail(false)
  expect(await reading.stats()).toEqual({ counts: NO_ENTRIES })
  expect(calls).toEqual({ stats: 3, activity: 2 })
})

it('reads a slow inbox less often: the readings take at most a fiftieth of the time', async () => {
  const { calls, now, reading, takes } = counting()
  takes(200)
  await reading.stats()
  now.advance(9_799)
  await reading.stats()
  expect(calls.stats).toBe(1)
  now.advance(1)
  await reading.stats()
  expect(calls.stats).toBe(2)
})

it('reads a very slow inbox again after half a minute', async () => {
  const { calls, now, reading, takes } = counting()
  takes(4_000)
  await reading.stats()
  now.advance(26_000)
  await reading.stats()
  expect(calls.stats).toBe(2)
})

it('shows what it has while a slow inbox is read again, for at most a minute', async () => {
  const { calls, now, reading, takes, pause } = counting()
  takes(2_000)
  const first = await reading.stats()
  now.advance(28_000)
  const resume = pause()
  expect(await reading.stats()).toBe(first)
  expect(calls.stats).toBe(2)
  now.advance(29_999)
  expect(await reading.stats()).toBe(first)
  now.advance(1)
  const third = reading.stats()
  resume()
  expect(await third).not.toBe(first)
})

it('waits for an inbox that is read fast', async () => {
  const { now, reading } = counting()
  const first = await reading.stats()
  now.advance(1_000)
  expect(await reading.stats()).not.toBe(first)
})

it('shares a reading that has not ended', async () => {
  const { calls, now, reading, pause } = counting()
  const resume = pause()
  const first = reading.stats()
  now.advance(20_000)
  const second = reading.stats()
  resume()
  await Promise.all([first, second])
  expect(calls.stats).toBe(1)
})

it('does not wait for an inbox that is counted for long: a later call gets the value', async () => {
  const { calls, reading, pause } = counting()
  const resume = pause()
  expect(await reading.stats()).toBeUndefined()
  expect(await reading.stats()).toBeUndefined()
  resume()
  await reading.stats()
  expect(await reading.stats()).toEqual({ counts: NO_ENTRIES })
  expect(calls.stats).toBe(1)
})

it('tells a later call, within half a minute, of a failure that none has waited for', async () => {
  const { now, reading, pause, fail } = counting()
  for (const laterMs of [29_999, 30_000]) {
    fail(true)
    const resume = pause()
    expect(await reading.stats()).toBeUndefined()
    resume()
    await nextTick()
    fail(false)
    now.advance(laterMs)
    if (laterMs < 30_000) await expect(reading.stats()).rejects.toThrow('not readable')
    expect(await reading.stats()).toEqual({ counts: NO_ENTRIES })
    reading.forget()
  }
})
