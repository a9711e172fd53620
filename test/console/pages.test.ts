import { randomUUID } from 'node:crypto'
import type { Entry } from '../../src/inbox/operations.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { inboxFile } from '../support/sqlite-file.js'
import { BOB, browse, HOSTS, hiddenFields, runConsole, textOf } from './browse.js'
import { seededInbox, NOW } from './seeded-inbox.js'

const DEAD = { move: 'deadLetter', error: 'the ledger did not answer', code: 'ERR_HANDLER_FAILED' } as const

describe.each(HOSTS)('the console in %s', (host) => {
  it('has an overview with the entries by state', async () => {
    const { inbox, clock, add } = seededInbox()
    await add()
    await add(DEAD)
    const { get } = browse(await runConsole({ inbox, clock }, host))
    const page = await get('./')
    expect(page.status).toBe(200)
    expect(textOf(page)).toMatch(/1 dead .*0 quarantined .*1 handled /)
    expect(textOf(page)).toMatch(/Waiting for a decision .*the ledger did not answer/)
  })

  it('sends every link of a page to a page of the console', async () => {
    const { inbox, clock, add } = seededInbox()
    await add(DEAD)
    const base = await runConsole({ inbox, clock }, host)
    const { get } = browse(base)
    const seen = new Set(['./'])
    // The set grows while it is read.
    for (const link of seen) {
      const page = await get(link)
      expect([link, page.status]).toEqual([link, 200])
      for (const [, href] of page.text.matchAll(/ (?:href|src|hx-get)="([^"]+)"/g)) {
        // All pages are at the same depth, and fragments become parts of pages.
        const url = new URL(href!.replaceAll('&amp;', '&'), base)
        expect(url.href.startsWith(base)).toBe(true)
        if (seen.size < 60) seen.add(url.href)
      }
    }
    expect(seen.size).toBeGreaterThan(30)
  })

  it('has a heading on a page that says what went wrong', async () => {
    const { get } = browse(await runConsole({ inbox: seededInbox().inbox }, host))
    const missing = await get('nothing-here')
    expect(missing.status).toBe(404)
    expect(textOf(missing)).toMatch(/No such page The console has no page with this address\./)
    expect(missing.text).toContain('<h1>No such page</h1>')
  })

  it.each(['nothing-here', 'a/b', 'entries/', 'a//b/', 'assets/none', 'a%2fb', 'x/%zz'])(
    'has its style, its image and its links on the page for %s, which is no page',
    async (path) => {
      const base = await runConsole({ inbox: seededInbox().inbox }, host)
      const { get } = browse(base)
      const page = await get(path)
      expect(page.status).toBeGreaterThanOrEqual(400)
      const links = [...page.text.matchAll(/ (?:href|src)="([^"#]+)"/g)].map(
        ([, href]) => new URL(href!, new URL(path, base)).href,
      )
      expect(links).toContain(base)
      expect(links.filter((href) => href.includes('/assets/')).length).toBeGreaterThan(3)
      for (const href of links) expect([href, (await get(href)).status]).toEqual([href, 200])
    },
  )

  it('decides', async () => {
    const { inbox, clock, add } = seededInbox()
    const id = await add(DEAD)
    const { get, post } = browse(await runConsole({ inbox, clock }, host))
    const fields = { ...hiddenFields(await get(`entry?id=${id}`)), action: 'retry', reason: 'it is back' }
    const done = await post(`entry?id=${id}`, fields)
    expect([done.status, done.headers.get('Location')]).toEqual([303, `entry?id=${id}&done=1`])
    const { state, history } = (await inbox.show(id))!
    expect(state).toBe('stored')
    expect(history).toMatchObject([{ action: 'retry', by: 'ada@example.com', reason: 'it is back' }])
  })
})

it.each(HOSTS.slice(0, 2))(
  'leads to the overview without a slash at the end of the path in %s',
  async (host) => {
    const { inbox } = seededInbox()
    const base = await runConsole({ inbox }, host)
    const answer = await browse(base).get(base.slice(0, -1))
    expect(answer.status).toBe(303)
    expect(new URL(answer.headers.get('Location')!, base.slice(0, -1)).href).toBe(base)
  },
)

it('answers an address of many levels with a page of bounded length', async () => {
  const { get } = browse(await runConsole({ inbox: seededInbox().inbox }))
  const page = await get('a/'.repeat(4_000))
  expect([page.status, page.text.length < 10_000]).toEqual([404, true])
})

describe('the page of an entry', () => {
  it('has the attempts, the decisions, the headers, the related entries and the body', async () => {
    const { inbox, clock, add } = seededInbox()
    const idempotencyKey = randomUUID()
    const id = await add(DEAD, {
      body: '{"Id":"a","amount":12.50,"big":12345678901234567890}',
      idempotencyKey,
    })
    await inbox.add(arrival({ idempotencyKey, body: '{"Id":"b"}' }))
    await inbox.act(id, 'discard', 'bob@example.com', { reason: 'a test' })
    const page = await browse(await runConsole({ inbox, clock })).get(`entry?id=${id}`)
    const text = textOf(page)
    expect(text).toMatch(
      /Attempts .*1 2026-11-03 09:14:27 UTC 0 ms dead ERR_HANDLER_FAILED the ledger did not answer/,
    )
    expect(text).toMatch(/Decisions .*discard bob@example\.com a test/)
    expect(text).toMatch(/Related entries .*quarantined the idempotency key/)
    expect(text).toMatch(/User-Agent callback-sender\/2\.4/)
    expect(page.text).toContain('&quot;amount&quot;: 12.50,\n  &quot;big&quot;: 12345678901234567890\n')
  })

  it('shows the body as it arrived, and gives it as a file that no browser takes for a page', async () => {
    const { inbox, add } = seededInbox()
    const body = '{"Id":"a" ,"html":"<b>"}'
    const id = await add(DEAD, { body })
    const { get } = browse(await runConsole({ inbox }))
    expect(textOf(await get(`entry?id=${id}&view=raw`))).toContain(body)
    const file = await get(`body?id=${id}`)
    expect(file.text).toBe(body)
    expect(Object.fromEntries(file.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="body.bin"',
      'x-content-type-options': 'nosniff',
    })
  })

  it('does not take bytes for JSON that are not UTF-8', async () => {
    const { inbox, add } = seededInbox()
    const body = Buffer.from('{"Id":"\xff"}', 'latin1')
    const id = await add('stored', { suspicion: 'the body is not JSON', body })
    const page = await browse(await runConsole({ inbox })).get(`entry?id=${id}`)
    expect(textOf(page)).toContain('It is not JSON in UTF-8. {"Id":"\ufffd"}')
  })

  it('shows the first part of a large body', async () => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD, { body: JSON.stringify({ Id: 'x'.repeat(100_000) }) })
    const page = await browse(await runConsole({ inbox })).get(`entry?id=${id}`)
    expect(textOf(page)).toContain('The first 65,536 bytes. The download has the whole body.')
    expect(page.text.length).toBeLessThan(80_000)
  })

  it.each(['decide', 'view', 'never'] as const)('shows bodies as the option says: %s', async (bodies) => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD, { body: '{"Id":"hidden-or-not"}', bodyId: 'y' })
    for (const role of ['view', 'decide'] as const) {
      const { get } = browse(await runConsole({ inbox, bodies, operator: () => ({ ...BOB, role }) }))
      const isShown = bodies === 'view' || (bodies === 'decide' && role === 'decide')
      expect((await get(`entry?id=${id}`)).text.includes('hidden-or-not')).toBe(isShown)
      expect((await get(`body?id=${id}`)).status).toBe(isShown ? 200 : 403)
    }
  })

  it('is 404 for an id that no entry has', async () => {
    const { inbox } = seededInbox()
    const { get } = browse(await runConsole({ inbox }))
    for (const id of ['17', '', '..', '%00', 'a'.repeat(3_000)])
      expect((await get(`entry?id=${id}`)).status).toBe(404)
    expect((await get('entry?id=17')).text).toContain('<h1>No such entry</h1>')
  })

  it('takes any id that an inbox makes', async () => {
    const { inbox, add } = seededInbox()
    const entry = (await inbox.show(await add(DEAD)))!
    const id = '../"<&?#%20/\n'
    const odd = Object.assign(Object.create(inbox) as typeof inbox, {
      show: async (asked: string): Promise<Entry | undefined> =>
        asked === id ? { ...entry, id } : undefined,
      related: async () => [],
      stats: () => inbox.stats(),
      list: async () => ({ entries: [{ ...entry, id }] }),
      count: async () => ({ count: 1, more: false }),
      activity: async () => [],
      act: async () => ({ done: true as const }),
    })
    const { get } = browse(await runConsole({ inbox: odd }))
    const href = /href="(entry\?id=[^"]+)"/.exec((await get('entries')).text)![1]!
    expect((await get(href)).status).toBe(200)
  })
})

// By the operations alone: the suite of inboxes tests that they are the same for every inbox.
test('an inbox in SQLite is shown and decided on as one in memory', async () => {
  const inbox = new SqliteInbox({ file: inboxFile(), clock: () => NOW })
  await inbox.open()
  const { id } = await inbox.add({
    ...arrival({ suspicion: 'it was signed long ago' }),
    bodyId: 'payment-17',
  })
  const { get, post } = browse(await runConsole({ inbox, clock: () => NOW }))
  expect(textOf(await get('./'))).toMatch(/1 quarantined .*it was signed long ago/)
  expect(textOf(await get('entries?state=quarantined&bodyId=payment-17'))).toContain('payment-17')
  const fields = { ...hiddenFields(await get(`entry?id=${id}`)), action: 'discard', reason: 'a test' }
  expect((await post(`entry?id=${id}`, fields)).status).toBe(303)
  expect(textOf(await get(`entry?id=${id}`))).toMatch(/discarded .*discard ada@example\.com a test/)
  await inbox.close()
})
