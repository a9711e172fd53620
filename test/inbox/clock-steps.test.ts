import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock, type FakeClock } from '../support/fake-clock.js'
import { work } from '../support/running-worker.js'
import { inboxFile, inboxOn } from '../support/sqlite-file.js'
import { until } from '../support/until.js'
import { settle } from '../support/settle.js'

const NOW = Date.UTC(2026, 10, 3)
const HOUR = 3_600_000
const LEASE_MS = 60_000
const ORDINARY = { eventTypes: 'any', limit: 10, leaseMs: LEASE_MS } as const
const INTERRUPTED = { ...ORDINARY, interrupted: true } as const

describe.each([
  ['MemoryInbox', (clock: FakeClock) => new MemoryInbox({ clock })],
  ['SqliteInbox', (clock: FakeClock) => inboxOn(inboxFile(), { clock })],
])('after the clock was set back an hour, %s', (_name, createInbox) => {
  it('gives what is stored at once, also behind what shares its order key', async () => {
    const clock = fakeClock()
    const inbox = createInbox(clock)
    await inbox.claim(ORDINARY)
    for (let count = 0; count < 2; count++) await inbox.add(arrival({ orderKey: 'a' }))
    clock.advance(-HOUR)
    for (let count = 0; count < 2; count++) {
      const { entries, clockSetBackMs } = await inbox.claim(ORDINARY)
      expect(entries).toHaveLength(1)
      expect(clockSetBackMs).toBe(count === 0 ? HOUR : undefined)
      await settle(inbox, entries[0]!, { move: 'complete' })
    }
  })

  it('deletes what was handled once it has been kept for as long as it must from then on', async () => {
    const clock = fakeClock(NOW)
    const inbox = createInbox(clock)
    const { id } = await inbox.add(arrival({ signedAt: new Date(NOW - HOUR) }))
    const [claimed] = (await inbox.claim(ORDINARY)).entries
    clock.advance(1_000 * HOUR)
    await settle(inbox, claimed!, { move: 'complete' })
    clock.advance(-1_000 * HOUR)
    await inbox.claim(ORDINARY)
    expect((await inbox.show(id))?.finishedAt).toEqual(new Date(NOW))
    clock.advance(inbox.retentionMs + 1)
    await inbox.add(arrival({ signedAt: new Date(clock()), suspicion: 'only tells the time' }))
    expect(await inbox.prune({ state: 'handled', limit: 10 })).toBe(1)
  })

  it('gives what is to be retried after its delay', async () => {
    const clock = fakeClock()
    const inbox = createInbox(clock)
    await inbox.add(arrival())
    const [claimed] = (await inbox.claim(ORDINARY)).entries
    await settle(inbox, claimed!, { move: 'reschedule', delayMs: 1_000, error: 'busy' })
    clock.advance(-HOUR)
    expect(await inbox.claim(ORDINARY)).toMatchObject({ entries: [], nextDueInMs: 1_000 })
    clock.advance(1_000)
    expect((await inbox.claim(ORDINARY)).entries).toHaveLength(1)
  })

  it('gives what was abandoned after a lease, and what is renewed to nobody', async () => {
    const clock = fakeClock()
    const inbox = createInbox(clock)
    await inbox.add(arrival({ type: 'renewed' }))
    await inbox.add(arrival({ type: 'abandoned' }))
    const { entries } = await inbox.claim(ORDINARY)
    await inbox.begin(entries, LEASE_MS)
    clock.advance(-HOUR)
    for (let renewal = 0; renewal < 3; renewal++) {
      expect((await inbox.claim(INTERRUPTED)).entries).toEqual([])
      await inbox.extend([entries[0]!], LEASE_MS)
      clock.advance(LEASE_MS / 3)
    }
    const abandoned = (await inbox.claim(INTERRUPTED)).entries
    expect(abandoned.map(({ callback }) => callback.type)).toEqual(['abandoned'])
  })

  it('does not report what NTP does all the time', async () => {
    const clock = fakeClock()
    const inbox = createInbox(clock)
    await inbox.add(arrival())
    clock.advance(-999)
    expect(await inbox.claim(ORDINARY)).toMatchObject({ entries: [{}], clockSetBackMs: undefined })
  })
})

it('a file that was last written by a clock far ahead is emptied, and the log says so', async () => {
  const file = inboxFile()
  const ahead = fakeClock(NOW + 24 * HOUR)
  const before = inboxOn(file, { clock: ahead })
  for (const type of ['stored', 'retrying', 'running']) await before.add(arrival({ type }))
  for (const type of ['retrying', 'running']) {
    const { entries } = await before.claim({ ...ORDINARY, eventTypes: [type] })
    await before.begin(entries, LEASE_MS)
    if (type === 'retrying')
      await settle(before, entries[0]!, { move: 'reschedule', delayMs: 1_000, error: 'busy' })
  }
  await before.close()

  const clock = fakeClock(NOW)
  const inbox = inboxOn(file, { clock })
  const types = ['stored', 'retrying', 'running']
  const { becomes, log } = work({ clock, inbox, types })
  await becomes('1', 'handled')
  clock.advance(1_000)
  await becomes('2', 'handled')
  // A worker may report the next step of the test's clock as well, which is as long as a lease.
  expect(log.withCode('WARN_CLOCK_STEPPED')).toMatchObject([
    { level: 'warn', fields: { stepMs: -24 * HOUR } },
  ])
  clock.advance(LEASE_MS)
  expect((await inbox.claim(INTERRUPTED)).entries).toMatchObject([{ attempt: 2 }])
})

it('a process gives what another one stored or claimed while the clock was ahead between two of its own claims', async () => {
  const file = inboxFile()
  const ahead = inboxOn(file, { clock: fakeClock(NOW + HOUR) })
  const clock = fakeClock(NOW)
  const inbox = inboxOn(file, { clock })
  await inbox.claim(ORDINARY)
  await ahead.add(arrival({ type: 'running' }))
  const { entries } = await ahead.claim(ORDINARY)
  await ahead.begin(entries, LEASE_MS)
  await ahead.add(arrival({ type: 'stored' }))
  await ahead.close()
  expect(await inbox.claim(ORDINARY)).toMatchObject({ entries: [], nextDueInMs: 0 })
  const stored = await inbox.claim(ORDINARY)
  expect(stored).toMatchObject({ entries: [{ id: '2' }], clockSetBackMs: HOUR })
  await settle(inbox, stored.entries[0]!, { move: 'complete' })

  const again = inboxOn(file, { clock: fakeClock(NOW + 2 * HOUR) })
  await again.claim(INTERRUPTED)
  await again.close()
  expect(await inbox.claim(ORDINARY)).toMatchObject({ interruptedIsDue: false, nextDueInMs: 0 })
  await inbox.claim(ORDINARY)
  clock.advance(LEASE_MS)
  expect((await inbox.claim(INTERRUPTED)).entries).toMatchObject([{ id: '1' }])
})

describe('after the clock was set ahead', () => {
  it('a worker takes nothing that another process may still be handling, and says so once', async () => {
    const clock = fakeClock()
    const inbox = new MemoryInbox({ clock })
    const holder = work({ clock, inbox, handler: 'manual' })
    await holder.store()
    const run = await holder.called(1)
    const other = work({ clock, inbox })
    await other.store()
    await until(() => other.runs.length + holder.runs.length === 2)

    clock.advance(HOUR)
    // The other worker goes on, with what nobody can be handling.
    for (let count = 0; count < 5; count++) {
      const id = await other.store()
      await until(() => [...other.runs, ...holder.runs].length === 3 + count)
      expect(id).not.toBe('')
    }
    expect((await inbox.claim({ ...ORDINARY, limit: 0 })).interruptedIsDue).toBe(true)
    const first = holder.runs[0]!.event.idempotencyKey
    expect(other.runs.map(({ event }) => event.idempotencyKey)).not.toContain(first)
    expect(other.log.withCode('WARN_CLOCK_STEPPED')).toMatchObject([
      { fields: { stepMs: expect.any(Number) } },
    ])
    run.succeed()
  })
})

it.each([
  ['MemoryInbox', (clock: () => number) => new MemoryInbox({ clock })],
  ['SqliteInbox', (clock: () => number) => inboxOn(inboxFile(), { clock })],
])('while its clock returns no number, %s changes nothing', async (_name, createInbox) => {
  let now = NOW
  const inbox = createInbox(() => now)
  await inbox.add(arrival())
  const [claimed] = (await inbox.claim(ORDINARY)).entries
  const failure = {
    code: 'ERR_OPTION_INVALID',
    option: 'clock',
    message: 'inbox: clock returned NaN: return a number of milliseconds, as Date.now does.',
  }
  now = NaN
  await expect(inbox.add(arrival())).rejects.toMatchObject(failure)
  await expect(inbox.begin([claimed!], LEASE_MS)).rejects.toMatchObject(failure)
  const end = { move: 'reschedule', delayMs: 0, error: 'busy' } as const
  await expect(inbox.settle([{ claim: claimed!, end }])).rejects.toMatchObject(failure)
  now = NOW + LEASE_MS
  expect((await inbox.claim(ORDINARY)).entries).toMatchObject([{ id: claimed!.id, attempt: 1 }])
  expect(await inbox.stats()).toMatchObject({ counts: { running: 1, stored: 0 } })
})
