import type { EntryFilter, EntryPage } from '../../src/inbox/operations.js'
import type { MemoryInbox } from '../support/whole-inbox.js'
import { BOB, browse, hiddenFields, runConsole, textOf, type Browsing } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

const DEAD = { move: 'deadLetter', error: 'the ledger did not answer', code: 'ERR_HANDLER_FAILED' } as const
const SUSPECT = { suspicion: 'it was signed long ago' }

/** The methods of an inbox, which have private fields of their own. */
function bound(inbox: MemoryInbox) {
  return {
    stats: () => inbox.stats(),
    list: inbox.list.bind(inbox),
    count: inbox.count.bind(inbox),
    show: inbox.show.bind(inbox),
  }
}

describe('a decision on all that match', () => {
  /** Sends the form, and follows the redirect to the result. */
  const send = async ({ get, post }: Browsing, fields: Record<string, string>) => {
    const answer = await post('decide', fields)
    return answer.status === 303 ? get(answer.headers.get('Location')!) : answer
  }
  const confirm = async (browsing: Browsing, query: string, more: Record<string, string> = {}) =>
    send(browsing, { ...hiddenFields(await browsing.get(`decide?${query}`)), ...more })

  it('is previewed: how many entries, and which', async () => {
    const { inbox, add } = seededInbox()
    const ids = [await add(DEAD), await add(DEAD), await add()]
    const { get } = browse(await runConsole({ inbox }))
    const page = await get('decide?state=dead&action=retry')
    expect(textOf(page)).toMatch(/2 entries match\. .*State dead .*Retry 2 entries/)
    const [first, second] = (await inbox.list({})).entries
    expect(hiddenFields(page)['entries']).toBe(
      `dead/1/${Number(first!.finishedAt)}/${ids[0]} dead/1/${Number(second!.finishedAt)}/${ids[1]}`,
    )
    const { history } = (await inbox.show(ids[0]!))!
    expect(history).toEqual([])
  })

  it('is carried out for the entries of the preview, whatever arrives until then', async () => {
    const { inbox, add } = seededInbox()
    const ids = [await add(DEAD), await add(DEAD)]
    const browsing = browse(await runConsole({ inbox }))
    const fields = hiddenFields(await browsing.get('decide?state=dead&reason=ledger&action=discard'))
    const later = await add(DEAD)
    const done = await send(browsing, { ...fields, reason: 'agreed with the ledger team' })
    expect(textOf(done)).toContain('2 entries were discarded.')
    expect(done.text).toContain('href="entries?state=dead&amp;reason=ledger"')
    for (const id of ids) {
      const { state, history } = (await inbox.show(id))!
      expect(state).toBe('discarded')
      expect(history).toMatchObject([{ by: 'ada@example.com', reason: 'agreed with the ledger team' }])
    }
    expect((await inbox.show(later))!.state).toBe('dead')
  })

  it('names the entries that it was not carried out for, and why', async () => {
    const { inbox, add } = seededInbox()
    const [one, other] = [await add(DEAD), await add(DEAD)]
    const browsing = browse(await runConsole({ inbox }))
    const fields = hiddenFields(await browsing.get('decide?state=dead&action=retry'))
    await inbox.act(one, 'discard', 'bob')
    const done = await send(browsing, fields)
    expect(textOf(done)).toMatch(
      new RegExp(`1 entry was retried\\. .*Not done .* ${one} It has changed since the preview\\.`),
    )
    expect((await inbox.show(other))!.state).toBe('stored')
  })

  it('is not carried out for an entry that another operator has decided on since', async () => {
    const { inbox, add } = seededInbox()
    const [one, other] = [await add(DEAD), await add(DEAD)]
    const browsing = browse(await runConsole({ inbox }))
    const fields = hiddenFields(await browsing.get('decide?state=dead&action=discard'))
    await inbox.act(one, 'retry', 'bob')
    const done = await send(browsing, fields)
    expect(textOf(done)).toMatch(
      new RegExp(`1 entry was discarded\\. .* ${one} It has changed since the preview\\.`),
    )
    expect((await inbox.show(one))!.state).toBe('stored')
    expect((await inbox.show(other))!.state).toBe('discarded')
  })

  it('says so when the inbox fails on the way', async () => {
    const { inbox, add } = seededInbox()
    const ids = [await add(DEAD), await add(DEAD)]
    const failing = Object.assign(Object.create(inbox) as typeof inbox, {
      ...bound(inbox),
      act: async (...[id, ...rest]: Parameters<typeof inbox.act>) => {
        if (id === ids[1]) throw new Error('the disk is full')
        return inbox.act(id, ...rest)
      },
    })
    const done = await confirm(browse(await runConsole({ inbox: failing })), 'state=dead&action=discard')
    expect(textOf(done)).toMatch(
      /For 1 entry nothing was done, or it is not known\. .*1 entry was discarded\./,
    )
    expect(done.text).not.toContain('disk is full')
  })

  it('is for at most 500 entries, the oldest', async () => {
    const { inbox, add } = seededInbox()
    for (let count = 0; count < 510; count++) await add('stored', SUSPECT)
    const browsing = browse(await runConsole({ inbox }))
    const page = await browsing.get('decide?state=quarantined&action=discard')
    expect(textOf(page)).toContain(
      '510 entries match. This decision is for the 500 oldest. Repeat it for the others. The 50 oldest are shown.',
    )
    await confirm(browsing, 'state=quarantined&action=discard')
    expect(await inbox.stats()).toMatchObject({ counts: { quarantined: 10, discarded: 500 } })
  })

  it('is previewed by one search, which a link continues', async () => {
    const { inbox, add } = seededInbox()
    const ids = [await add(DEAD), await add(DEAD)]
    const searches: (string | undefined)[] = []
    // As a large inbox, of which one search examines a part.
    const large = Object.assign(Object.create(inbox) as typeof inbox, {
      ...bound(inbox),
      list: (filter: EntryFilter, page: EntryPage) => {
        searches.push(page.afterId)
        return inbox.list(filter, { ...page, limit: 1 })
      },
    })
    const { get } = browse(await runConsole({ inbox: large }))
    const first = await get('decide?state=dead&reason=ledger&action=retry')
    expect(textOf(first)).toContain(
      '1 entry was found so far. The search was ended before it had examined all entries. Search further',
    )
    expect(hiddenFields(first)['entries']).toContain(ids[0])
    expect(searches).toEqual([undefined])
    const [, further] = /href="(decide[^"]*)"/.exec(first.text)!
    const second = await get(further!.replaceAll('&amp;', '&'))
    expect(textOf(second)).toContain('1 further entry was found so far.')
    expect(hiddenFields(second)['entries']).toContain(ids[1])
    const third = await get(/href="(decide[^"]*)"/.exec(second.text)![1]!.replaceAll('&amp;', '&'))
    expect(textOf(third)).toContain('0 further entries match.')
    expect(third.text).not.toContain('<button')
    expect(searches).toEqual([undefined, ...ids])
  })

  it('has a result that stays the same when its page is loaded again, and decides nothing then', async () => {
    const { inbox, add } = seededInbox()
    await add(DEAD)
    await add(DEAD)
    const browsing = browse(await runConsole({ inbox }))
    const fields = hiddenFields(await browsing.get('decide?state=dead&action=discard'))
    const answer = await browsing.post('decide', fields)
    expect([answer.status, answer.text]).toEqual([303, ''])
    for (let loads = 0; loads < 2; loads++) {
      const page = await browsing.get(answer.headers.get('Location')!)
      expect([page.status, textOf(page)]).toEqual([200, expect.stringContaining('2 entries were discarded.')])
    }
    expect((await inbox.show('1'))!.history).toHaveLength(1)
  })

  it('has a result that nobody else sees, and that nobody can make up', async () => {
    const { inbox, add } = seededInbox()
    await add(DEAD)
    let name = 'ada@example.com'
    const base = await runConsole({ inbox, operator: () => ({ name, role: 'decide' }) })
    const browsing = browse(base)
    const fields = hiddenFields(await browsing.get('decide?state=dead&action=discard'))
    const href = (await browsing.post('decide', fields)).headers.get('Location')!
    const statusOf = async ({ get }: Browsing, path: string) => {
      const page = await get(path)
      expect(textOf(page).includes(' discarded.')).toBe(page.status === 200)
      return page.status
    }
    expect(await statusOf(browsing, href)).toBe(200)
    for (const other of [href.replace('done=1', 'done=2'), `${href}&done=2`, href.replace(/seal=.*/, '')])
      expect([other, await statusOf(browsing, other)]).toEqual([other, 403])
    expect(await statusOf(browse(base), href)).toBe(403)
    name = 'bob@example.com'
    expect(await statusOf(browsing, href)).toBe(403)
  })

  it('has a result with a bounded address, however long the ids are and the filter is', async () => {
    const { inbox, add } = seededInbox()
    const entry = (await inbox.show(await add(DEAD)))!
    const entries = Array.from({ length: 500 }, (_, index) => ({
      ...entry,
      id: `${index}/${'ü '.repeat(5)}`,
    }))
    const odd = Object.assign(Object.create(inbox) as typeof inbox, {
      ...bound(inbox),
      list: async () => ({ entries }),
      act: async () => ({ done: false, code: 'changed', message: 'it has changed' }) as const,
    })
    const browsing = browse(await runConsole({ inbox: odd }))
    const back = `entries?${new URLSearchParams({ state: 'dead', type: 'ü'.repeat(190), reason: 'ü'.repeat(190) })}`
    const query = 'state=dead&action=discard'
    const answer = await browsing.post('decide', {
      ...hiddenFields(await browsing.get(`decide?${query}`)),
      back,
    })
    const href = answer.headers.get('Location')!
    expect(href.length).toBeLessThan(8_000)
    const page = await browsing.get(href)
    const shown = [...page.text.matchAll(/href="entry\?id=/g)].length
    expect(shown).toBeGreaterThan(5)
    expect(textOf(page)).toMatch(
      new RegExp(`0 entries were discarded\\. .*${500 - shown} more are not shown\\.`),
    )
    expect((await browsing.get('entries?state=dead')).status).toBe(200)
  })

  it.each([
    ['no state', 'action=retry'],
    ['a state that does not allow it', 'state=dead&action=release'],
    ['a second handling', 'state=handled&action=retry'],
    ['no decision', 'state=dead'],
    ['one that cannot be done at once', 'state=dead&action=undo'],
    ['a filter that is not understood', 'state=dead&after=never&action=retry'],
  ])('is refused with %s', async (_, query) => {
    const { inbox, add } = seededInbox()
    await add(DEAD)
    expect((await browse(await runConsole({ inbox })).get(`decide?${query}`)).status).toBe(400)
  })

  it.each([
    ['no entries', { entries: '' }],
    ['too many entries', { entries: Array.from({ length: 501 }, (_, id) => `dead/1/0/${id}`).join(' ') }],
    ['ids that cannot be decoded', { entries: 'dead/1/0/%zz' }],
    ['entries without what was seen of them', { entries: '1' }],
    ['another decision', { action: 'undo' }],
  ])('is refused when the form has %s', async (_, more) => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const browsing = browse(await runConsole({ inbox }))
    expect((await confirm(browsing, 'state=dead&action=retry', more)).status).toBe(400)
    expect((await inbox.show(id))!.history).toEqual([])
  })

  it.each([
    ['no reason', ' ', 'a decision needs a reason'],
    [
      'a reason with a tab, as a spreadsheet has it',
      'OPS-17\tledger',
      'the reason contains a control character',
    ],
    ['a reason that is too long', 'x'.repeat(501), 'the reason has more than 500 characters'],
  ])('says why it was not done for %s', async (_, reason, why) => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const browsing = browse(await runConsole({ inbox, reasons: 'required' }))
    const answer = await confirm(browsing, 'state=dead&action=retry', { reason })
    expect(answer.status).toBe(400)
    expect(textOf(answer)).toContain(`Not done Nothing was done: ${why}.`)
    expect((await inbox.show(id))!.history).toEqual([])
  })

  it('leads back to the list only', async () => {
    const { inbox, add } = seededInbox()
    await add(DEAD)
    const browsing = browse(await runConsole({ inbox }))
    const done = await confirm(browsing, 'state=dead&action=retry', { back: 'https://evil.example/' })
    expect(done.text).not.toContain('evil.example')
  })

  it('is not offered to those who may only look', async () => {
    const { inbox, add } = seededInbox()
    await add(DEAD)
    const { get } = browse(await runConsole({ inbox, operator: () => BOB }))
    expect((await get('entries?state=dead')).text).not.toContain('decide?')
    expect((await get('decide?state=dead&action=retry')).status).toBe(403)
  })
})
