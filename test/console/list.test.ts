import { randomUUID } from 'node:crypto'
import { browse, runConsole, textOf } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

const DEAD = { move: 'deadLetter', error: 'the ledger did not answer', code: 'ERR_HANDLER_FAILED' } as const
const SUSPECT = { suspicion: 'it was signed long ago' }

describe('the list', () => {
  const idsOf = (text: string) => [...text.matchAll(/href="entry\?id=([^"]+)"/g)].map(([, id]) => id)

  it('has pages in both directions, the newest entry first', async () => {
    const { inbox, clock, add } = seededInbox()
    const ids: string[] = []
    for (let count = 0; count < 120; count++) ids.unshift(await add('stored'))
    const { get } = browse(await runConsole({ inbox, clock }))
    const linkIn = (text: string, rel: string) =>
      new RegExp(`<a href="([^"]+)" rel="${rel}"`).exec(text)?.[1]?.replaceAll('&amp;', '&')
    const first = await get('entries')
    const second = await get(linkIn(first.text, 'next')!)
    const third = await get(linkIn(second.text, 'next')!)
    expect([first, second, third].flatMap(({ text }) => idsOf(text))).toEqual(ids)
    expect(linkIn(first.text, 'prev')).toBeUndefined()
    expect(linkIn(third.text, 'next')).toBeUndefined()
    const back = await get(linkIn(third.text, 'prev')!)
    expect(idsOf(back.text)).toEqual(ids.slice(50, 100))
    const newest = await get(linkIn((await get(linkIn(back.text, 'prev')!)).text, 'prev') ?? 'entries')
    expect(idsOf(newest.text)).toEqual(ids.slice(0, 50))
    expect((await get('entries?state=dead')).text).not.toContain('Pages of the list')
  })

  it.each([
    ['older', 'from', 'next'],
    ['newer', 'to', 'prev'],
  ])('says that a search for %s entries has ended early, and continues it', async (_, name, rel) => {
    const { inbox } = seededInbox()
    // As a large inbox, of which one search examines a part.
    jest.spyOn(inbox, 'list').mockResolvedValue({ entries: [], next: '7' })
    const page = await browse(await runConsole({ inbox })).get(`entries?${name}=9`)
    expect(textOf(page)).toContain('No further entry was found so far.')
    expect(page.text).toContain(`<a href="entries?${name}=7" rel="${rel}">Search further</a>`)
  })

  it('does not say that no entry matches at the end of a search that has found some', async () => {
    const { inbox, add } = seededInbox()
    for (let count = 0; count < 3; count++) await add(DEAD)
    const found = await inbox.list({ states: ['dead'] }, { newestFirst: true, limit: 50 })
    // As a large inbox, of which one search examines a part.
    const first = { ...found, next: found.entries.at(-1)!.id }
    jest.spyOn(inbox, 'list').mockResolvedValueOnce(first)
    const { get } = browse(await runConsole({ inbox }))
    const page = await get('entries?state=dead')
    expect(idsOf(page.text)).toHaveLength(3)
    const further = /<a href="([^"]+)" rel="next">Search further/.exec(page.text)![1]!
    const last = textOf(await get(further.replaceAll('&amp;', '&')))
    expect(last).toContain('No further entry matches.')
    expect(last).not.toContain('No entry matches.')
    expect(textOf(await get('entries?state=running'))).toContain('No entry matches.')
  })

  it('finds by each filter, and keeps the filter in the form and in the links', async () => {
    const { inbox, clock, add } = seededInbox()
    await add()
    const idempotencyKey = randomUUID()
    clock.advance(60_000)
    const id = await add(DEAD, { idempotencyKey, bodyId: 'payment-17', type: 'transfers.other' })
    const { get } = browse(await runConsole({ inbox, clock }))
    const filters = [
      'state=dead',
      'state=dead&state=running',
      `key=${idempotencyKey.toUpperCase()}`,
      'bodyId=payment-17',
      'type=transfers.other',
      'reason=LEDGER',
      'after=2026-11-03T09:15:27',
    ]
    for (const filter of filters) {
      const page = await get(`entries?${filter}`)
      expect([filter, idsOf(page.text)]).toEqual([filter, [id]])
    }
    const page = await get('entries?state=dead&reason=ledger')
    expect(page.text).toContain('name="reason" value="ledger"')
    expect(page.text).toMatch(/value="dead" checked/)
    expect(page.text).toContain('href="decide?state=dead&amp;reason=ledger&amp;action=retry"')
    expect(idsOf((await get('entries?before=2026-11-03T09:15:27')).text)).toHaveLength(1)
    expect(idsOf((await get('entries?reason=no-such-text')).text)).toEqual([])
  })

  it('finds what it shows as escapes, also by the form that it has filled with them', async () => {
    const { inbox, add } = seededInbox()
    const bodyId = '\u200bpay\u202e\u0007\u{e0041}'
    const literal = String.raw`\u{41} \u{110000} \u{d800}`
    const ids = [await add(DEAD, { bodyId }), await add(DEAD, { bodyId: literal })]
    const { get } = browse(await runConsole({ inbox }))
    const find = (text: string) => get(`entries?${new URLSearchParams({ bodyId: text })}`)
    for (const [index, text] of [bodyId, literal].entries()) {
      const page = await find(text)
      const inForm = /name="bodyId" value="([^"]*)"/.exec(page.text)![1]!
      expect([idsOf(page.text), idsOf((await find(inForm)).text)]).toEqual([[ids[index]], [ids[index]]])
    }
  })

  // Browsers leave the field empty for any other text. The form would then search without the time.
  it.each(['2026-11-03', '2026-11-03T00:00', '2026-11-03T00:00Z', '2026-11-03T00:00:00.000Z'])(
    'shows the time %s in the form as browsers read it',
    async (time) => {
      const { text } = await browse(await runConsole({ inbox: seededInbox().inbox })).get(
        `entries?after=${time}`,
      )
      expect(/name="after" value="([^"]*)"/.exec(text)![1]).toBe('2026-11-03T00:00:00')
    },
  )

  it.each([
    ['2026-11-03T09:14:27.250', '2026-11-03T09:14:27.250', '0.001'],
    ['2026-11-03T09:14:27', '2026-11-03T09:14:27', '1'],
    ['', '', '1'],
  ])('has a form that a browser sends for the time %s', async (time, value, step) => {
    const { text } = await browse(await runConsole({ inbox: seededInbox().inbox })).get(
      `entries?after=${time}`,
    )
    // A value between two steps is invalid (HTML, "suffering from a step mismatch").
    expect(/name="after" value="([^"]*)"[^>]* step="([^"]*)"/.exec(text)!.slice(1)).toEqual([value, step])
  })

  it.each(['state=lost', 'state=constructor', 'after=yesterday', `type=${'x'.repeat(201)}`])(
    'refuses %s with a sentence',
    async (filter) => {
      const { inbox, add } = seededInbox()
      await add()
      const page = await browse(await runConsole({ inbox })).get(`entries?${filter}`)
      expect(page.status).toBe(400)
      expect(page.text).toMatch(/role="alert">[^<]+\./)
      expect(page.text).not.toContain('No entry matches.')
      expect(idsOf(page.text)).toEqual([])
    },
  )

  it.each(['state=lost', 'after=yesterday', `reason=${'x'.repeat(201)}`])(
    'does not search for %s when a page polls',
    async (filter) => {
      const { inbox } = seededInbox()
      const search = jest.spyOn(inbox, 'list')
      const page = await browse(await runConsole({ inbox })).get(`live/entries?${filter}`)
      expect([page.status, search.mock.calls.length]).toEqual([400, 0])
    },
  )

  it('announces new entries, and follows the states of those that it shows', async () => {
    const { inbox, clock, add } = seededInbox()
    const id = await add('stored')
    const { get } = browse(await runConsole({ inbox, clock }))
    const page = await get('entries')
    const live = / id="news"[^>]* hx-get="([^"]+)"/.exec(page.text)![1]!.replaceAll('&amp;', '&')
    expect(textOf(await get(live))).toMatch(/^\s*stored 0\s*$/)
    await add()
    await add()
    await inbox.act(id, 'discard', 'ada')
    const later = await get(live)
    expect(later.text).toContain('<a href="entries">2 new</a>')
    expect(later.text).toMatch(/id="state-0" hx-swap-oob="innerHTML"><span class="state discarded">/)
    const filtered = await get(live.replace('?', '?state=stored&'))
    expect(textOf(filtered)).toContain('changed')
  })

  it('announces an entry that comes into the list later than newer ones', async () => {
    const { inbox, clock, add } = seededInbox()
    const first = await add('stored', SUSPECT)
    const shown: string[] = []
    for (let count = 0; count < 60; count++) shown.unshift(await add(DEAD))
    const last = await add('stored', SUSPECT)
    const { get } = browse(await runConsole({ inbox, clock }))
    const liveHref = async (path: string) =>
      / id="news"[^>]* hx-get="([^"]+)"/.exec((await get(path)).text)![1]!.replaceAll('&amp;', '&')
    const newsOf = async (href: string) => /<a [^>]*>(.*?)<\/a>/.exec((await get(href)).text)?.[1]
    const [discarded, dead] = [
      await liveHref('entries?state=discarded'),
      await liveHref('entries?state=dead'),
    ]
    await inbox.act(shown[30]!, 'discard', 'bob')
    expect([await newsOf(discarded), await newsOf(dead)]).toEqual(['1 new', undefined])
    const one = await liveHref('entries?state=discarded')
    await inbox.act(shown[40]!, 'discard', 'bob')
    await inbox.act(shown[20]!, 'discard', 'bob')
    expect([await newsOf(discarded), await newsOf(one)]).toEqual(['3 new', '2 new'])
    // Undo brings an entry back among the rows of a full page, and another one below them.
    const full = await liveHref('entries?state=dead')
    await inbox.act(shown[20]!, 'undo', 'bob')
    expect(await newsOf(full)).toBe('1 new')
    await inbox.act(first, 'discard', 'bob')
    await inbox.act(last, 'discard', 'bob')
    expect([await newsOf(full), await newsOf(one)]).toEqual(['1 new', '3 new'])
  })

  it('follows its rows however many entries have arrived since, and announces those', async () => {
    const { inbox, clock, add } = seededInbox()
    for (let count = 0; count < 40; count++) await add('stored')
    const { get } = browse(await runConsole({ inbox, clock }))
    const lists = ['entries', 'entries?state=stored'].map(async (path) => {
      const { text } = await get(path)
      return / id="news"[^>]* hx-get="([^"]+)"/.exec(text)![1]!.replaceAll('&amp;', '&')
    })
    const [all, stored] = await Promise.all(lists)
    for (let count = 0; count < 120; count++) await add('stored')
    const later = textOf(await get(all!))
    expect(later).toMatch(/^\s*100 or more new (?:stored 0\s*){40}$/)
    for (const { id } of (await inbox.list({}, { limit: 40 })).entries) await inbox.act(id, 'discard', 'ada')
    // None of the rows is in this list any more.
    expect(textOf(await get(stored!))).toMatch(/^\s*100 or more new (?:changed\s*){40}$/)
  })
})
