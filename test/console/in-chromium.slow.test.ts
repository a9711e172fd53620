import { source as axeSource } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { Arrival } from '../../src/inbox/inbox.js'
import { createReceiver } from '../../src/index.js'
import {
  createStandaloneConsole,
  parseStandaloneConsole,
} from '../../src/console/sign-in/standalone-console.js'
import { describeWithChromium, openContext } from '../support/chromium.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'
import { ADA, runConsole, serveUntilEnd } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

const DEAD = { move: 'deadLetter', error: 'the ledger did not answer', code: 'ERR_HANDLER_FAILED' } as const
const SUSPECT = { suspicion: 'it was signed long ago' }

/** A page of a browser. At its end `problems` has what a page of the console must not do. */
async function open(
  base: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; problems: string[] }> {
  const context = await openContext(options)
  const problems: string[] = []
  context.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(base).origin) problems.push(`request to ${request.url()}`)
  })
  const page = await context.newPage()
  page.on('dialog', (dialog) => {
    problems.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    // Chromium reports the status of each refused form.
    if (['error', 'warning'].includes(message.type()) && !/status of 4/.test(message.text()))
      problems.push(message.text())
  })
  return { page, problems }
}

/** A console with entries in every state, and refused requests. */
async function everything() {
  const seeded = seededInbox()
  const { inbox, clock, add } = seeded
  for (let count = 0; count < 60; count++) {
    await add()
    clock.advance(20_000)
  }
  await add('stored', SUSPECT)
  await add({
    move: 'reschedule',
    delayMs: 600_000,
    error: 'connect ECONNREFUSED 10.0.0.4:5432',
    code: 'ERR_HANDLER_FAILED',
  })
  await add('running')
  await inbox.act(await add(DEAD), 'discard', 'bob@example.com', { reason: 'a test' })
  const dead = await add(DEAD, { body: '{"Id":"a","amount":12.50,"parties":["x","y"]}' })
  await add('stored', { type: 'transfers.other' })
  const receiver = createReceiver({ subscriptions: [subscription], inbox, logger: false })
  const base = await runConsole({ receiver, clock })
  const forged = genuine({ headers: { Authorization: FORGED } })
  await receiver.receive({ method: 'POST', path: '/', headers: forged.headers, body: forged.body })
  return { ...seeded, base, dead, receiver }
}

/** What the payloads of the test would add to a page. */
const HOSTILE_ELEMENTS = 'img[src=x], [onerror], [onload], [hx-on\\:load], a[href^=javascript]'

async function findings(page: Page): Promise<string[]> {
  // By the debugger, as the policy of the page permits no such script.
  await page.evaluate(axeSource)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>
      }
    }
    const { violations } = await axe.run()
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
    )
  })
}

const numberOf = (page: Page, state: string) => page.locator(`.tile.${state} .count`).innerText()

describeWithChromium('the console in a browser', () => {
  // The contrast does not depend on the width, and the structure does not depend on the colours.
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

  it('asks for the figures of a large inbox each second until it is counted', async () => {
    const { base, inbox } = await everything()
    const stats = inbox.stats.bind(inbox)
    let end = () => {}
    const counted = new Promise<void>((resolve) => (end = resolve))
    jest.spyOn(inbox, 'stats').mockImplementation(() => counted.then(stats))
    const search = inbox.search.bind(inbox)
    jest.spyOn(inbox, 'search').mockImplementation((...query) => counted.then(() => search(...query)))
    const { page, problems } = await open(base)
    // A page without missing figures asks for the first time after five seconds.
    let polls = 0
    page.on('response', (response) => {
      if (response.url().includes('live/overview') && ++polls === 2) end()
    })
    await page.goto(base)
    expect(await numberOf(page, 'handled')).toBe('…')
    expect(await findings(page)).toEqual([])
    await page.locator('.tile.handled .count', { hasText: '60' }).waitFor({ timeout: 4_500 })
    expect(await page.locator('#counting').count()).toBe(0)
    await page.locator('#waiting table').waitFor()
    await page.locator('#chart canvas').waitFor()
    expect(problems).toEqual([])
  })

  it('carries out every decision on one entry, and takes one back', async () => {
    const { base, inbox, add, dead } = await everything()
    const { page, problems } = await open(base)
    const decide = async (id: string, button: string) => {
      await page.goto(new URL(`entry?id=${id}`, base).href)
      await page.getByLabel('Reason of your decision').fill(`to ${button}`)
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('cell', { name: `to ${button}` }).waitFor()
    }
    await decide(dead, 'Discard')
    await decide(dead, 'Undo')
    await decide(dead, 'Retry')
    const suspect = await add('stored', SUSPECT)
    await decide(suspect, 'Release')
    const actions = async (id: string) =>
      (await inbox.show(id))!.history.map(({ action, reason }) => [action, reason])
    expect(await actions(dead)).toEqual([
      ['discard', 'to Discard'],
      ['undo', 'to Undo'],
      ['retry', 'to Retry'],
    ])
    expect(await actions(suspect)).toEqual([['release', 'to Release']])
    expect(problems).toEqual([])
  })

  it('decides on all that match after a preview', async () => {
    const { base, inbox, add } = await everything()
    await add('stored', SUSPECT)
    const { page, problems } = await open(base)
    await page.goto(base)
    await page.locator('.tile.quarantined').click()
    await page.getByRole('link', { name: 'Discard all that match' }).click()
    await page.getByText('2 entries match.').waitFor()
    await page.getByRole('button', { name: 'Discard 2 entries' }).click()
    await page.getByText('2 entries were discarded.').waitFor()
    expect(await inbox.stats()).toMatchObject({ quarantined: 0, discarded: 3 })
    expect(problems).toEqual([])
  })

  it('lets one of two operators decide who have the same entry open', async () => {
    const { base, inbox, dead } = await everything()
    const pages = await Promise.all([open(base), open(base)])
    for (const { page } of pages) await page.goto(new URL(`entry?id=${dead}`, base).href)
    await Promise.all(
      pages.map(async ({ page }, index) => {
        await page.getByRole('button', { name: index === 0 ? 'Retry' : 'Discard' }).click()
        await page.waitForLoadState()
      }),
    )
    const told = await Promise.all(pages.map(({ page }) => page.getByRole('alert').allInnerTexts()))
    expect(told.flat()).toEqual([expect.stringContaining('Nothing was done')])
    expect((await inbox.show(dead))!.history).toHaveLength(1)
  })

  it('can be used with the keyboard alone', async () => {
    const { base, inbox, dead } = await everything()
    const { page, problems } = await open(base)
    await page.goto(new URL('entries?state=dead', base).href)
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    const focusedOn = async (selector: string) => {
      for (let presses = 0; presses < 40; presses++) {
        await page.keyboard.press('Tab')
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
      }
      throw new Error(`no Tab leads to ${selector}`)
    }
    await focusedOn('.entries a')
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline).toBe('solid')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: `Entry ${dead}` }).waitFor()
    await focusedOn('input[name=reason]')
    await page.keyboard.type('by keyboard')
    await focusedOn('button[value=discard]')
    await page.keyboard.press('Enter')
    await page.getByRole('cell', { name: 'by keyboard' }).waitFor()
    expect((await inbox.show(dead))!.state).toBe('discarded')
    expect(problems).toEqual([])
  })

  it('works without JavaScript, with times in UTC and the figures of the chart', async () => {
    const { base, inbox, dead } = await everything()
    const { page } = await open(base, { javaScriptEnabled: false, timezoneId: 'Asia/Tokyo' })
    await page.goto(base)
    expect(await page.getByText('The chart needs JavaScript.').count()).toBe(1)
    await page.getByText('Figures of the chart').click()
    expect(await page.locator('#activity tbody tr').count()).toBe(60)
    await page.getByRole('link', { name: 'Entries', exact: true }).click()
    await page.getByLabel('dead').check()
    await page.getByRole('button', { name: 'Show' }).click()
    await page.locator('.entries a').first().click()
    expect(await page.locator('time').first().innerText()).toMatch(/ UTC$/)
    await page.getByLabel('Reason of your decision').fill('without a script')
    await page.getByRole('button', { name: 'Retry' }).click()
    expect(await page.getByRole('cell', { name: 'without a script' }).count()).toBe(1)
    expect((await inbox.show(dead))!.state).toBe('stored')
  })

  it('shows times in the zone of the reader, and the exact time in UTC as their title', async () => {
    const { base, dead } = await everything()
    const { page } = await open(base, { timezoneId: 'Asia/Tokyo' })
    await page.goto(new URL(`entry?id=${dead}`, base).href)
    const time = page.locator('.facts time').first()
    expect(await time.innerText()).toBe('2026-11-03 18:34:27')
    expect(await time.getAttribute('title')).toBe('2026-11-03 09:34:27.000 UTC')
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
    // The page polls every 5 seconds of its clock, and the console shares a reading for a second of the real one.
    while ((await grown.count()) === 0) await page.clock.runFor(5_000)
    expect(await places()).toEqual(placesBefore)
    expect(await page.locator('details[open] #activity').count()).toBe(1)

    await page.goto(new URL('entries', base).href)
    const first = page.locator('.entries tbody tr').first()
    const [key, top] = [await first.locator('td').nth(3).innerText(), (await first.boundingBox())!.y]
    const shown = (await inbox.search({}, { newestFirst: true, limit: 1 })).entries[0]!
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

  it('draws the chart in the colours of the states', async () => {
    const { base } = await everything()
    const { page } = await open(base, { colorScheme: 'light' })
    await page.goto(base)
    await page.locator('#chart canvas').waitFor()
    const colors = await page.evaluate(`(() => {
      const canvas = document.querySelector('canvas')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      const found = new Set()
      for (let index = 0; index < data.length; index += 4)
        if (data[index + 3] === 255) found.add(data.slice(index, index + 3).join())
      return [...found]
    })()`)
    // --handled, --quarantined and --dead of the light scheme.
    expect(colors).toEqual(expect.arrayContaining(['35,114,74', '134,84,10', '179,38,30']))
  })

  it('runs no script of a payload, in whichever field it is', async () => {
    const { inbox, add } = seededInbox()
    const hostile = (name: string) =>
      `${name}"'></title></textarea><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)><a href="javascript:alert(4)" hx-on:load="alert(5)" hx-get="/" hx-trigger="load">`
    const headers: Arrival['headers'] = { pairs: [[hostile('h'), hostile('v')]], isCut: false }
    const id = await add(
      { move: 'deadLetter', error: hostile('error'), code: 'ERR_HANDLER_FAILED' },
      {
        type: hostile('type'),
        idempotencyKey: hostile('key'),
        bodyId: hostile('id'),
        body: JSON.stringify({ Id: hostile('p') }),
        headers,
      },
    )
    await inbox.act(id, 'discard', hostile('by').slice(0, 100), { reason: hostile('why').slice(0, 500) })
    const operator = () => ({ ...ADA, name: `<img src=x onerror=alert(6)>` })
    const base = await runConsole({ inbox, operator })
    const { page, problems } = await open(base)
    const query = new URLSearchParams({
      type: hostile('type').slice(0, 200),
      reason: '<script>alert(7)</script>',
    })
    for (const path of [
      './',
      'entries',
      `entries?${query}`,
      `entry?id=${id}`,
      `entry?id=${id}&view=raw`,
      'decide?state=discarded',
    ]) {
      await page.goto(new URL(path, base).href)
      await page.waitForLoadState('networkidle')
      const added = await page.evaluate(`({
        scripts: [...document.scripts].filter((script) => !script.src.includes('/assets/')).length,
        elements: document.querySelectorAll(${JSON.stringify(HOSTILE_ELEMENTS)}).length,
      })`)
      expect([path, added]).toEqual([path, { scripts: 0, elements: 0 }])
    }
    expect(problems.filter((problem) => !problem.includes('status of 400'))).toEqual([])
  })

  it('signs in, decides and signs out in a process of its own', async () => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const receiver = createReceiver({ subscriptions: [subscription], inbox, logger: false })
    const users = [{ name: 'ada', password: 'correct horse battery', role: 'decide' }] as const
    const settings = parseStandaloneConsole(
      'serve',
      { option: 'admin', part: 'admin' },
      { users },
      '127.0.0.1',
    )
    const console = createStandaloneConsole('serve', receiver, settings, {
      debug() {},
      info() {},
      warn() {},
      error() {},
    })
    const base = `${await serveUntilEnd((request, response) => console.handle(request, response))}/`
    const { page, problems } = await open(base)
    await page.goto(new URL(`entry?id=${id}`, base).href)
    expect(await findings(page)).toEqual([])
    await page.getByLabel('Name').fill('ada')
    await page.getByLabel('Password').fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('Name or password is wrong.').waitFor()
    await page.getByLabel('Password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('cell', { name: 'ada' }).waitFor()
    expect((await inbox.show(id))!.history).toMatchObject([{ action: 'retry', by: 'ada' }])

    // A page that is open elsewhere asks to sign in when its session has ended.
    const other = await page.context().newPage()
    await other.clock.install()
    await other.goto(base)
    await other.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await other.clock.runFor(5_000)
    await other.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(problems).toEqual([])
    console.close()
  })
})
