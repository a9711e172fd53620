import type { Page } from 'playwright-core'
import { describeWithChromium } from '../support/chromium.js'
import { deferred } from '../support/deferred.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { runConsole } from './browse.js'
import { DEAD, everything, findings, open, pollUntil } from './in-chromium.js'
import { seededInbox } from './seeded-inbox.js'

const numberOf = (page: Page, state: string) => page.locator(`.tile.${state} .count`).innerText()

describeWithChromium('the pages of the console in a browser', () => {
  it.each([
    ['light', 360],
    ['dark', 2_560],
  ] as const)(
    'has no finding of axe and no scroll bar of the page in %s at %d pixels',
    async (colorScheme, width) => {
      const { base, dead } = await everything()
      const { page, problems } = await open(base, { colorScheme, viewport: { width, height: 800 } })
      for (const path of [
        './',
        'entries',
        `entry?id=${dead}`,
        'refused',
        'decide?state=dead&action=discard',
      ]) {
        await page.goto(new URL(path, base).href)
        if (path === './') await page.locator('#chart canvas').waitFor()
        expect([path, await findings(page)]).toEqual([path, []])
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        expect([path, overflow]).toEqual([path, 0])
      }
      expect(problems).toEqual([])
    },
  )

  it.each([360, 1_280])(
    'asks for the figures until the inbox is counted, and nothing moves at %d pixels',
    async (width) => {
      const { base, inbox } = await everything()
      const stats = inbox.stats.bind(inbox)
      let end = () => {}
      const counted = new Promise<void>((resolve) => (end = resolve))
      jest.spyOn(inbox, 'stats').mockImplementation(() => counted.then(stats))
      const activity = inbox.activity.bind(inbox)
      jest.spyOn(inbox, 'activity').mockImplementation((request) => counted.then(() => activity(request)))
      const list = inbox.list.bind(inbox)
      jest.spyOn(inbox, 'list').mockImplementation((...query) => counted.then(() => list(...query)))
      const { page, problems } = await open(base, { viewport: { width, height: 800 } })
      const polled = deferred()
      page.on('response', (response) => {
        if (response.url().includes('live/overview')) polled.resolve()
      })
      const places = () =>
        page
          .locator('.tile, #chart-title, summary, #waiting')
          .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top))
      await page.goto(base)
      expect(await numberOf(page, 'handled')).toBe('…')
      expect(await findings(page)).toEqual([])
      expect(await page.locator('main').innerText()).not.toMatch(/is large|needs JavaScript|Reload/)
      const placesBefore = await places()
      await polled.promise
      end()
      await page.locator('.tile.handled .count', { hasText: '60' }).waitFor()
      expect(await page.locator('#counting').count()).toBe(0)
      expect(await places()).toEqual(placesBefore)
      await page.locator('#waiting table').waitFor()
      await page.locator('#chart canvas').waitFor()
      expect(problems).toEqual([])
    },
  )

  it('shows every time in UTC, in every zone of a reader, so that it can be copied into a filter', async () => {
    const { base, dead } = await everything()
    const { page } = await open(base, { timezoneId: 'Asia/Kolkata' })
    for (const path of ['./', 'entries', `entry?id=${dead}`, 'refused']) {
      await page.goto(new URL(path, base).href)
      const texts = await page.locator('time').evaluateAll((all) => all.map((each) => each.textContent))
      expect(texts.length).toBeGreaterThan(0)
      for (const text of texts) expect(text).toMatch(/^2026-11-03 (?:08:[345]|09:[0-3])\d:\d\d UTC$/)
    }
    await page.goto(new URL('entries', base).href)
    const row = page.locator('.entries tbody tr').first()
    const [time, key] = [await row.locator('time').innerText(), await row.locator('td').nth(3).innerText()]
    await page.getByLabel('Received from (UTC)').fill(time.replace(' UTC', '').replace(' ', 'T'))
    await page.getByRole('button', { name: 'Show' }).click()
    await page.waitForURL('**/entries?*')
    expect(await page.locator('.entries tbody tr').first().locator('td').nth(3).innerText()).toBe(key)
    const exact = await page.locator('time').first().getAttribute('title')
    expect(exact).toMatch(/^2026-11-03 09:34:27\.000 UTC$/)
  })

  it('follows the inbox without a reload, and nothing moves', async () => {
    const { base, add, inbox, clock } = await everything()
    const { page, problems } = await open(base)
    await page.clock.install()
    await page.goto(base)
    await page.locator('#chart canvas').waitFor()
    await page.getByText('Figures of the chart').click()
    const before = await numberOf(page, 'dead')
    const places = () =>
      page.locator('.tile, h2').evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top))
    const placesBefore = await places()
    await add(DEAD)
    const grown = page.locator('.tile.dead .count', { hasText: String(Number(before) + 1) })
    // The console shares a reading for a second of the real clock.
    await pollUntil(page, async () => (await grown.count()) > 0)
    expect(await places()).toEqual(placesBefore)
    expect(await page.locator('details[open] #activity').count()).toBe(1)

    await page.goto(new URL('entries', base).href)
    const first = page.locator('.entries tbody tr').first()
    const [key, top] = [await first.locator('td').nth(3).innerText(), (await first.boundingBox())!.y]
    const shown = (await inbox.list({}, { newestFirst: true, limit: 1 })).entries[0]!
    await inbox.act(shown.id, 'discard', 'bob')
    clock.advance(1_000)
    await add('stored')
    await page.clock.runFor(5_000)
    await page.getByRole('link', { name: '1 new' }).waitFor()
    expect(await first.locator('.state').innerText()).toBe('discarded')
    expect([await first.locator('td').nth(3).innerText(), (await first.boundingBox())!.y]).toEqual([key, top])
    await page.getByRole('link', { name: '1 new' }).click()
    await page.locator('.entries .state').first().getByText('stored').waitFor()
    expect(problems).toEqual([])
  })

  it('says that an entry waits for a decision since the overview was opened, and shows it', async () => {
    const { inbox, clock, add } = seededInbox()
    const base = await runConsole({ inbox, clock })
    const { page, problems } = await open(base, { viewport: { width: 360, height: 800 } })
    await page.clock.install()
    await page.goto(base)
    const list = page.locator('#waiting')
    await list.getByText('No entry waits for a decision.').waitFor()
    await add(DEAD)
    const height = async () => (await list.boundingBox())!.height
    const before = await height()
    const link = list.getByRole('link', { name: 'Update list' })
    // The console shares a reading for a second of the real clock.
    await pollUntil(page, async () => (await link.count()) > 0)
    expect(await height()).toBe(before)
    expect(await findings(page)).toEqual([])
    await link.press('Enter')
    await list.getByRole('cell', { name: 'the ledger did not answer' }).waitFor()
    expect([page.url(), await link.count()]).toEqual([base, 0])
    expect(problems).toEqual([])
  })

  it('follows when a secret last verified a callback, which decides whether it can be removed', async () => {
    const { base, receiver } = await everything()
    const { page, problems } = await open(base)
    await page.clock.install()
    await page.goto(base)
    await page.getByText('No callback was verified by this process since it started.').waitFor()
    const { method, path, headers, body } = genuine()
    await receiver.receive({ method, path, headers, body })
    const rows = page.getByRole('group', { name: 'Secrets' }).locator('tbody tr')
    await pollUntil(page, async () => (await rows.count()) > 0)
    expect(await rows.locator('td').nth(1).innerText()).toBe(subscription.eventTypeName)
    expect(await findings(page)).toEqual([])
    expect(problems).toEqual([])
  })

  it('says that a request was refused since the page of refused requests was opened, and shows it', async () => {
    const { base, receiver } = await everything()
    const { page, problems } = await open(base, { viewport: { width: 360, height: 800 } })
    await page.clock.install()
    await page.goto(new URL('refused', base).href)
    const rows = page.getByRole('group', { name: 'The latest refused requests' }).locator('tbody tr')
    expect(await rows.count()).toBe(1)
    await receiver.receive({ method: 'GET', path: '/', headers: {}, body: Buffer.alloc(0) })
    const link = page.getByRole('link', { name: 'Update lists' })
    await pollUntil(page, async () => (await link.count()) > 0)
    expect(await findings(page)).toEqual([])
    // Who has come to the link by the keyboard stays there, and a screen reader does not say it again every five seconds.
    await link.focus()
    const answered = page.waitForResponse((response) => response.url().includes('/live/refused-changes'))
    await page.clock.runFor(5_000)
    await answered
    await page.locator('.htmx-request').first().waitFor({ state: 'detached' })
    expect(await link.evaluate((element) => element.ownerDocument.activeElement === element)).toBe(true)
    await page.keyboard.press('Enter')
    await rows.nth(1).waitFor()
    expect(await link.count()).toBe(0)
    expect(problems).toEqual([])
  })

  it('asks for nothing in the background, and immediately when it is looked at again', async () => {
    const { base, add } = await everything()
    const { page, problems } = await open(base)
    await page.clock.install()
    await page.goto(base)
    const asked: string[] = []
    page.on('request', (request) => asked.push(...(/live\/[a-z-]+/.exec(request.url()) ?? [])))
    const look = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`)
    await look(true)
    await add(DEAD)
    await page.clock.runFor(60_000)
    expect(asked).toEqual([])
    await look(false)
    await until(() => asked.length === 2)
    expect(asked.sort()).toEqual(['live/overview', 'live/waiting-changes'])
    expect(problems).toEqual([])
  })

  it('says that it is not updated while the console does not answer, or cannot read the inbox', async () => {
    const { inbox, clock } = seededInbox()
    const base = await runConsole({ inbox, clock })
    const { page } = await open(base)
    await page.clock.install()
    await page.goto(base)
    const note = page.getByRole('alert')
    const becomes = (shown: number) => pollUntil(page, async () => (await note.count()) === shown)
    expect(await note.count()).toBe(0)
    const stats = jest.spyOn(inbox, 'stats').mockRejectedValue(new Error('the disk is gone'))
    await becomes(1)
    expect(await findings(page)).toEqual([])
    stats.mockRestore()
    await becomes(0)
    await page.context().setOffline(true)
    await becomes(1)
  })

  it.each([
    ['refused', 'td.text'],
    ['./', '#secrets td'],
  ])('shows the texts of %s on a narrow page without a scroll to the side', async (path, cells) => {
    const { base, receiver } = await everything()
    const { method, path: target, headers, body } = genuine()
    await receiver.receive({ method, path: target, headers, body })
    const { page } = await open(base, { viewport: { width: 360, height: 800 } })
    await page.goto(new URL(path, base).href)
    const ends = await page.evaluate<number[]>(
      `[...document.querySelectorAll('${cells}')].map((cell) => cell.getBoundingClientRect().right)`,
    )
    expect(ends.length).toBeGreaterThan(0)
    expect(ends.filter((end) => end > 360)).toEqual([])
  })

  it('prints the whole body and the whole width of tables', async () => {
    const { base, add } = await everything()
    const body = JSON.stringify({ Id: 'a', lines: Array.from({ length: 200 }, () => 'one line') })
    const id = await add(DEAD, { body })
    const { page } = await open(base, { viewport: { width: 794, height: 1_123 } })
    await page.goto(new URL(`entry?id=${id}`, base).href)
    await page.emulateMedia({ media: 'print' })
    const cut = await page.evaluate(
      `[...document.querySelectorAll('.scroll, pre')].filter((each) =>
        getComputedStyle(each).overflow !== 'visible' || each.clientHeight < each.scrollHeight).length`,
    )
    expect(cut).toBe(0)
  })
})
