import { NO_ENTRIES } from '../../src/inbox/no-entries.js'
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import type { InboxState } from '../../src/inbox/states.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock } from '../support/fake-clock.js'
import { inboxFile, openAside } from '../support/sqlite-file.js'
import { settle } from '../support/settle.js'
import { asked, CLAIM, DAY, EVERY_STATE, ids, NOW, oldFile, opened, schemaOf } from './old-files.js'

describe('a file of the first version of the schema', () => {
  it('is brought up to date when it is opened', async () => {
    const file = await oldFile([])
    expect(await asked(file, 'PRAGMA user_version')).toEqual({ user_version: 1 })
    await opened(file).open()
    expect(await asked(file, 'PRAGMA user_version')).toEqual({ user_version: SCHEMA_VERSION })
  })

  it('gets the schema of a new file', async () => {
    const files = [await oldFile([]), inboxFile()]
    for (const file of files) await opened(file).open()
    expect(await schemaOf(files[0]!)).toBe(await schemaOf(files[1]!))
  })

  it('has the schema of the first migration, which is never changed', async () => {
    const file = inboxFile()
    const database = await openAside(file)
    database.exec(MIGRATIONS[0]!)
    database.close()
    expect(await schemaOf(await oldFile([]))).toBe(await schemaOf(file))
  })

  it('keeps its entries in their states, and what can be done with each', async () => {
    const states = Object.keys(EVERY_STATE) as (keyof typeof EVERY_STATE)[]
    const inbox = opened(await oldFile(states.map((state) => ({ state, ...EVERY_STATE[state] }))))
    const shown = states.map((state) => (state === 'unhandled' ? 'stored' : state))
    expect((await inbox.list({})).map(({ state }) => state)).toEqual(shown)
    const once = Object.fromEntries(Object.keys(NO_ENTRIES).map((each) => [each, 1]))
    expect(await inbox.stats()).toMatchObject({ ...once, stored: 2, unhandled: 0 })
    const idOf = (state: InboxState) => String(states.indexOf(state) + 1)
    expect(await ids(inbox)).toEqual([idOf('stored'), idOf('retrying'), idOf('unhandled')])
    expect(await ids(inbox, { interrupted: true })).toEqual([idOf('running')])
    expect(await inbox.act(idOf('dead'), 'retry', 'ann')).toEqual({ done: true })
    expect(await inbox.act(idOf('quarantined'), 'release', 'ann')).toEqual({ done: true })
    expect(await ids(inbox)).toEqual([idOf('dead'), idOf('quarantined')])
    expect(await inbox.show(idOf('handled'))).toMatchObject({ attempts: 1, finishedAt: new Date(NOW) })
  })

  it('has what waits behind an unhandled entry wait for it', async () => {
    const file = await oldFile([
      { state: 'unhandled', order_key: 'a' },
      { state: 'stored', order_key: 'a', due_at: NOW, ready: 1 },
      { state: 'running', order_key: 'b', due_at: NOW + 1_000, ready: 1, token: 1, attempts: 1 },
      { state: 'unhandled', order_key: 'b' },
      { state: 'stored', order_key: 'b', due_at: NOW },
      { state: 'stored', due_at: NOW, ready: 1 },
    ])
    const inbox = opened(file)
    expect(await ids(inbox)).toEqual(['1', '6'])
    expect(await settle(inbox, { id: '3', token: 1 }, { move: 'complete' })).toBe(true)
    expect(await ids(inbox)).toEqual(['4'])
  })

  it('has what was running be handled by itself, and keeps its attempts', async () => {
    const inbox = opened(
      await oldFile([
        { state: 'running', due_at: NOW - 1, ready: 1, token: 2, attempts: 2 },
        { state: 'stored', due_at: NOW, ready: 1 },
      ]),
    )
    expect(await ids(inbox)).toEqual(['2'])
    expect((await inbox.claim({ ...CLAIM, interrupted: true })).entries).toMatchObject([
      { id: '1', attempt: 3 },
    ])
  })

  it('has nothing wait for a clock that was far ahead', async () => {
    const inbox = opened(
      await oldFile([
        { state: 'stored', due_at: NOW + DAY, ready: 1 },
        { state: 'retrying', due_at: NOW + DAY, ready: 1, token: 1, attempts: 1 },
        { state: 'retrying', due_at: NOW + 10, ready: 1, token: 1, attempts: 1 },
        { state: 'handled', finished_at: NOW + DAY },
      ]),
    )
    expect(await inbox.claim(CLAIM)).toMatchObject({
      entries: [{ id: '1' }],
      nextDueInMs: 10,
      clockSetBackMs: DAY,
    })
    expect(await inbox.show('2')).toMatchObject({ dueAt: new Date(NOW + 3_600_000) })
    expect(await inbox.show('4')).toMatchObject({ finishedAt: new Date(NOW) })
  })

  it('has reasons that begin with the code by which they are selected', async () => {
    const [conflict, replay] = [
      'its idempotency key is that of entry 1, which has another body',
      'its signature is that of entry 1, which has another idempotency key',
    ]
    const inbox = opened(
      await oldFile([
        { state: 'handled', finished_at: NOW },
        { state: 'quarantined', known: 0, reason: conflict },
        { state: 'quarantined', known: 0, reason: replay },
      ]),
    )
    expect((await inbox.list({ states: ['quarantined'] })).map(({ reason }) => reason)).toEqual([
      `ERR_IDEMPOTENCY_KEY_REUSED: conflict, ${conflict}`,
      `ERR_SIGNATURE_REPLAYED: replay, ${replay}`,
    ])
  })

  it('has what was handled deleted with all its signatures, which are then forgotten', async () => {
    const handled = arrival({ signedAt: new Date(NOW) })
    const file = await oldFile(
      [{ state: 'handled', arrival: handled, finished_at: NOW }],
      [[Buffer.from('anew'), 1]],
    )
    const clock = fakeClock(NOW)
    const inbox = opened(file, { clock, retentionMs: 1_000 })
    expect(await inbox.add(handled)).toEqual({ result: 'duplicate', id: '1' })
    clock.advance(1_001)
    await inbox.add(arrival({ signedAt: new Date(clock()) }))
    expect(await inbox.prune({ state: 'handled', limit: 10 })).toBe(1)
    expect(await asked(file, 'SELECT count(*) AS count FROM more_signatures')).toEqual({ count: 0 })
    expect(await inbox.add(handled)).toMatchObject({ result: 'quarantined', why: 'forgotten' })
  })

  describe('of a subscription without an id', () => {
    const earlier = arrival()
    let inbox: SqliteInbox
    beforeEach(async () => {
      inbox = opened(await oldFile([{ state: 'stored', arrival: earlier, due_at: NOW, ready: 1 }]))
    })

    it('gives its entries the default id of their subscription', async () => {
      const { subscription } = earlier.callback
      expect(await inbox.show('1')).toMatchObject({ state: 'stored', subscription })
      expect(subscription.id).toBe('transfers.book-completed https://partner.example.com/hooks/transfers')
      expect((await inbox.claim(CLAIM)).entries[0]?.callback.subscription).toEqual(subscription)
    })

    it('still recognises the repeats of what is in it', async () => {
      expect(await inbox.add({ ...earlier, signature: arrival().signature })).toEqual({
        result: 'duplicate',
        id: '1',
      })
    })

    it('takes the same callback of a subscription with an id of its own, and tells the two apart', async () => {
      const { callback } = earlier
      const subscription = { ...callback.subscription, id: 'bolt' }
      const { result, id } = await inbox.add({
        ...earlier,
        callback: { ...callback, subscription },
        key: `${callback.idempotencyKey}@bolt`,
        signature: arrival().signature,
      })
      expect(result).toBe('stored')
      expect((await inbox.show(id))?.subscription).toEqual(subscription)
      const [claimed] = (await inbox.claim(CLAIM)).entries
      await settle(inbox, claimed!, { move: 'complete' })
      expect(await inbox.related(id)).toEqual([])
    })
  })
})
