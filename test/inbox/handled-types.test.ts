import { AskedTypes, handledTypes } from '../../src/inbox/handled-types.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock, type FakeClock } from '../support/fake-clock.js'
import { inboxFile, inboxOn, openAside } from '../support/sqlite-file.js'
import { registerRequeuing } from './requeued-entries.js'

const MINUTE = 60_000

describe('the types that count as handled', () => {
  const asked = (seen: Record<string, number>) =>
    handledTypes(Object.entries(seen).map(([eventType, seenAt]) => ({ eventType, seenAt })))

  it.each([
    ['any while nobody has asked', {}, 'any'],
    ['those that were asked for', { a: 1, b: 2 }, new Set(['a', 'b'])],
    [
      'not those that were asked for more than 5 minutes before the latest',
      { a: 0, b: 300_001 },
      new Set(['b']),
    ],
    ['those that were asked for 5 minutes before the latest', { a: 0, b: 300_000 }, new Set(['a', 'b'])],
    ['any where somebody asked for any', { a: 1, '': 1 }, 'any'],
    ['not any where that was long ago', { a: 300_002, '': 1 }, new Set(['a'])],
  ])('are %s', (_what, seen, expected) => {
    expect(asked(seen)).toEqual(expected)
  })
})

describe('the types of a claim', () => {
  it('are recorded once in 30 seconds for each set of types', () => {
    const types = new AskedTypes()
    expect(types.toRecord(['a', 'b'], 0)).toEqual(['a', 'b'])
    // The write may have failed.
    expect(types.toRecord(['a', 'b'], 0)).toEqual(['a', 'b'])
    types.recorded(['a', 'b'], 0)
    expect(types.toRecord(['a', 'b'], 29_999)).toEqual([])
    expect(types.toRecord(['a'], 29_999)).toEqual(['a'])
    expect(types.toRecord('any', 29_999)).toEqual([''])
    expect(types.toRecord(['a', 'b'], 30_000)).toEqual(['a', 'b'])
  })

  it('are recorded again when the clock has been set back', () => {
    const types = new AskedTypes()
    types.recorded(['a'], 1_000_000)
    expect(types.toRecord(['a'], 0)).toEqual(['a'])
  })
})

describe.each([
  ['MemoryInbox', (clock: FakeClock) => new MemoryInbox({ clock })],
  ['SqliteInbox', (clock: FakeClock) => inboxOn(inboxFile(), { clock })],
])('%s', (_name, createInbox) => {
  const ask = (inbox: MemoryInbox | SqliteInbox, ...eventTypes: string[]) =>
    inbox.claim({ eventTypes, limit: 0, leaseMs: 1 })

  it('keeps what is known when all workers stop', async () => {
    const clock = fakeClock()
    const inbox = createInbox(clock)
    await ask(inbox, 'a')
    await inbox.add(arrival({ type: 'a' }))
    await inbox.add(arrival({ type: 'b' }))
    clock.advance(1_000 * MINUTE)
    expect(await inbox.stats()).toMatchObject({ counts: { stored: 1, unhandled: 1 } })
  })

  it('counts the types of the old workers for 5 minutes after the new ones have begun to ask', async () => {
    const clock = fakeClock()
    const inbox = createInbox(clock)
    await inbox.add(arrival({ type: 'a' }))
    await ask(inbox, 'a')
    clock.advance(1_000 * MINUTE)
    await ask(inbox, 'a')
    for (const [minutes, stored] of [
      [4, 1],
      [2, 0],
    ] as const) {
      clock.advance(minutes * MINUTE)
      await ask(inbox, 'b')
      expect(await inbox.stats()).toMatchObject({ counts: { stored, unhandled: 1 - stored } })
    }
  })

  it('does not take a time from before the clock was set back for the latest', async () => {
    const clock = fakeClock()
    const inbox = createInbox(clock)
    await inbox.add(arrival({ type: 'a' }))
    await ask(inbox, 'b')
    clock.advance(-60 * MINUTE)
    await ask(inbox, 'a')
    expect(await inbox.stats()).toMatchObject({ counts: { stored: 1, unhandled: 0 } })
  })

  describe('with an entry that was running when its worker was killed', () => {
    registerRequeuing(() => {
      const clock = fakeClock()
      return { inbox: createInbox(clock), advance: (ms) => clock.advance(ms) }
    })
  })
})

it('SqliteInbox finds the unhandled entries by its indexes, without reading others', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file, { clock: fakeClock() })
  await inbox.open()
  const database = await openAside(file)
  for (const where of [
    'ready = 1 AND begun_by = 0',
    'ready = 1 AND begun_by > 0',
    'ready = 0 AND due_at IS NOT NULL',
  ]) {
    const sql = `EXPLAIN QUERY PLAN SELECT count(*) FROM entries WHERE ${where} AND event_type = 'a'`
    const [{ detail }] = database.prepare(sql).all() as [{ detail: string }]
    expect(detail).toMatch(/^SEARCH entries USING .*INDEX entries_(ready|begun|waiting) \(event_type=\?\)/)
  }
  database.close()
})
