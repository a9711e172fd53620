import { browse, runConsole, textOf } from './browse.js'
import { seededInbox, NOW } from './seeded-inbox.js'

const DEAD = { move: 'deadLetter', error: 'the ledger did not answer', code: 'ERR_HANDLER_FAILED' } as const

test('the overview counts by the parts of its period', async () => {
  const { inbox, clock, add } = seededInbox()
  await add()
  clock.advance(2 * 3_600_000)
  await add(DEAD)
  const { get } = browse(await runConsole({ inbox, clock }))
  const countsIn = async (range: string) => {
    const { text } = await get(`live/overview?range=${range}`)
    const table = /<table id="activity".*?<\/table>/s.exec(text)![0]
    return [...table.matchAll(/<td class="number">(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  expect(await countsIn('hour')).toBe(1)
  expect(await countsIn('day')).toBe(2)
  expect(await countsIn('week')).toBe(2)
  expect(textOf(await get('./'))).toContain(new Date(NOW).toISOString().slice(0, 10))
})

test('the overview of an inbox that takes long to count is shown without its figures', async () => {
  const { inbox, add } = seededInbox()
  await add(DEAD)
  let end = () => {}
  const counted = new Promise<void>((resolve) => (end = resolve))
  const stats = inbox.stats.bind(inbox)
  const activity = inbox.activity.bind(inbox)
  const list = inbox.list.bind(inbox)
  jest.spyOn(inbox, 'stats').mockImplementation(() => counted.then(stats))
  jest.spyOn(inbox, 'activity').mockImplementation((request) => counted.then(() => activity(request)))
  jest.spyOn(inbox, 'list').mockImplementation((...query) => counted.then(() => list(...query)))
  const base = await runConsole({ inbox })
  const first = await (await fetch(base)).text()
  expect(first).toMatch(/ id="waiting">.*<p [^>]*hx-get="live\/waiting" hx-trigger="every 1s"/s)
  for (const path of ['./', 'live/overview?range=day']) {
    const text = await (await fetch(new URL(path, base))).text()
    expect(text).toContain('The inbox is being counted.')
    expect(text).toContain(
      `hx-get="live/overview?range=${path === './' ? 'hour' : 'day'}" hx-trigger="every 1s"`,
    )
    expect([...text.matchAll(/class="count">([^<]*)</g)].map(([, count]) => count)).toEqual(
      Array(8).fill('…'),
    )
    expect(text).not.toContain('<table id="activity"')
  }
  end()
  const page = await browse(base).get('./')
  expect(textOf(page)).toMatch(/ 1 dead /)
  expect(page.text).toContain('<table id="activity"')
  expect(textOf(page)).toContain('All that wait for a decision')
  expect((await browse(base).get('live/waiting')).text).toMatch(
    /<div class="scroll"[^]*the ledger did not answer/,
  )
})

test('the overview announces that its list has changed: by a new entry or by a decision', async () => {
  const { inbox, add } = seededInbox()
  // A console shares what it has read for a second, so each look is at another one.
  const look = async (path: string) => (await browse(await runConsole({ inbox })).get(path)).text
  const changesHref = async () => / hx-get="(live\/waiting-changes[^"]*)"/.exec(await look('./'))![1]!
  const ofNone = await changesHref()
  expect(await look(ofNone)).toBe('')
  const id = await add(DEAD)
  expect(await look(ofNone)).toContain('Update list')
  const ofOne = await changesHref()
  expect(await look(ofOne)).toBe('')
  await add()
  expect(await look(ofOne)).toBe('')
  await inbox.act(id, 'discard', 'bob')
  expect(await look(ofOne)).toContain('Update list')
  expect(await look(ofNone)).toBe('')
})
