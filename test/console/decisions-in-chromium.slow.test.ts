import { describeWithChromium } from '../support/chromium.js'
import { deferred } from '../support/deferred.js'
import { subscription } from '../support/subscription.js'
import { until } from '../support/until.js'
import { DEAD, everything, findings, open, SUSPECT } from './in-chromium.js'

describeWithChromium('decisions in a browser', () => {
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

  it('follows an entry after a decision, and keeps the form and what is typed into it', async () => {
    const { base, inbox, dead } = await everything()
    const { page, problems } = await open(base)
    await page.goto(new URL(`entry?id=${dead}`, base).href)
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Your decision “retry” was recorded').waitFor()
    const state = page.locator('#entry-head .state')
    expect(await state.innerText()).toBe('stored')
    await page.getByLabel('Reason of your decision').fill('not yet sent')
    const { entries } = await inbox.claim({
      eventTypes: [subscription.eventTypeName],
      limit: 1_000,
      leaseMs: 60_000,
    })
    await inbox.begin(entries, 60_000)
    await page.locator('#entry-head .state.running').waitFor()
    await inbox.settle(entries.map((claim) => ({ claim, end: { ...DEAD, error: 'it failed again' } })))
    await page.locator('#entry-head .state.dead').waitFor()
    await page.getByRole('cell', { name: 'it failed again' }).waitFor()
    const numbers = page.locator('[aria-labelledby=attempts-title] td:first-child')
    expect(await numbers.allInnerTexts()).toEqual(['2', '1'])
    expect(await page.getByLabel('Reason of your decision').inputValue()).toBe('not yet sent')
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByText('Nothing was done: the entry has changed since you opened it.').waitFor()
    expect((await inbox.show(dead))!.state).toBe('dead')
    expect(await page.locator('button:visible').allInnerTexts()).toEqual(['Retry', 'Discard'])
    expect(problems).toEqual([])
  })

  it('leads to the form for an entry that has changed, and says when it was deleted', async () => {
    const { base, inbox, dead } = await everything()
    const { page, problems } = await open(base)
    await page.goto(new URL(`entry?id=${dead}`, base).href)
    await inbox.act(dead, 'discard', 'bob')
    await page.getByRole('link', { name: 'Open its form' }).click()
    await page.getByRole('button', { name: 'Undo “discard”' }).waitFor()
    jest.spyOn(inbox, 'show').mockResolvedValue(undefined)
    await page.getByRole('heading', { name: 'No such entry' }).waitFor()
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
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.method()))
    await page.reload()
    await page.getByText('2 entries were discarded.').waitFor()
    expect(new Set(sent)).toEqual(new Set(['GET']))
    expect(await inbox.stats()).toMatchObject({ counts: { quarantined: 0, discarded: 3 } })
    expect(problems).toEqual([])
  })

  it('shows what was done when a button is pressed again while the decisions are carried out', async () => {
    const { base, inbox, add } = await everything()
    await add('stored', SUSPECT)
    const { page, problems } = await open(base)
    await page.goto(new URL('decide?state=quarantined&action=discard', base).href)
    const act = inbox.act.bind(inbox)
    const pressed = deferred()
    const acting = jest.spyOn(inbox, 'act').mockImplementation((...decision) => {
      const done = act(...decision)
      return pressed.promise.then(() => done)
    })
    const { x, y } = (await page.getByRole('button', { name: 'Discard 2 entries' }).boundingBox())!
    // Unlike a click on the button, this does not wait until the page of the answer is there.
    const press = () => page.mouse.click(x + 5, y + 5)
    await press()
    await until(() => acting.mock.calls.length === 2)
    await press()
    pressed.resolve()
    await page.getByRole('status').waitFor()
    expect(await page.getByRole('status').innerText()).toBe('2 entries were discarded.')
    expect(await inbox.stats()).toMatchObject({ counts: { quarantined: 0, discarded: 3 } })
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

  it('decides nothing when Enter is pressed in the reason, because there are several decisions', async () => {
    const { base, inbox, dead } = await everything()
    const { page } = await open(base)
    await page.goto(new URL(`entry?id=${dead}`, base).href)
    expect(await page.locator('button:visible').allInnerTexts()).toEqual(['Retry', 'Discard'])
    await page.getByLabel('Reason of your decision').fill('not this callback')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('cell', { name: 'not this callback' }).waitFor()
    expect((await inbox.show(dead))!.history).toMatchObject([{ action: 'discard' }])
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
    const text = await page.locator('main').innerText()
    expect(text).toContain('The chart needs JavaScript.')
    expect(text).not.toContain('This page follows the inbox.')
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
})
