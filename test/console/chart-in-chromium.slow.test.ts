import type { Page } from 'playwright-core'
import { describeWithChromium } from '../support/chromium.js'
import { everything, open } from './in-chromium.js'

/** Keeps the texts that a page draws on its canvas. */
const KEEP_DRAWN_TEXTS = `
  globalThis.drawn = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
    drawn.push(text)
    fillText.call(this, text, ...at)
  }
`
const drawnTexts = (page: Page) => page.evaluate<string[]>('drawn')

describeWithChromium('the chart in a browser', () => {
  it('has a legend with the figures of the bar under the pointer', async () => {
    const { base } = await everything()
    const { page, problems } = await open(base)
    await page.goto(base)
    const area = page.locator('#chart .u-over')
    const { x, y, width } = (await area.boundingBox())!
    const rows = await page
      .locator('#activity tbody tr')
      .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent!)))
    expect(new Set(rows.map(([, ...counts]) => counts.join())).size).toBeGreaterThan(2)
    for (const [index, [time, ...counts]] of rows.entries()) {
      for (const part of [0.1, 0.45, 0.6, 0.8]) {
        await page.mouse.move(x + (width * (index + part)) / rows.length, y + 50)
        const legend = page.locator('#chart .u-legend .u-value')
        // The legend is updated at the next frame.
        await page.evaluate('new Promise(requestAnimationFrame)')
        expect([part, await legend.allTextContents()]).toEqual([part, [time, ...counts.toReversed()]])
      }
    }
    expect(problems).toEqual([])
  })

  it.each(['hour', 'day', 'week'])('has the times of the last %s in UTC below it', async (range) => {
    const { base } = await everything()
    const { page } = await open(base, { timezoneId: 'Asia/Kolkata' })
    await page.addInitScript(KEEP_DRAWN_TEXTS)
    await page.goto(`${base}?range=${range}`)
    await page.locator('#chart canvas').waitFor()
    const texts = await drawnTexts(page)
    expect(texts).toContain('UTC')
    const times = texts.filter((text) => /^\d\d[:-]\d\d$/.test(text))
    expect(times.length).toBeGreaterThan(5)
    const starts = await page
      .locator('#activity time')
      .evaluateAll((all) => all.map((each) => Date.parse(each.getAttribute('datetime') ?? '')))
    const end = 2 * starts.at(-1)! - starts.at(-2)!
    const shown = [...starts, end].map((at) => new Date(at).toISOString())
    expect(
      times.filter((time) => !shown.some((text) => [text.slice(5, 10), text.slice(11, 16)].includes(time))),
    ).toEqual([])
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

  it('has each date once below the chart of the last week', async () => {
    const { base } = await everything()
    const { page } = await open(base, { viewport: { width: 1_280, height: 800 } })
    await page.addInitScript(KEEP_DRAWN_TEXTS)
    await page.goto(`${base}?range=week`)
    await page.locator('#chart canvas').waitFor()
    const texts = await drawnTexts(page)
    const dates = texts.filter((text) => text.includes('-'))
    expect(dates.length).toBeGreaterThan(5)
    expect(dates).toEqual([...new Set(dates)])
  })

  it('has a legend in the colours of the chart, and marks the chosen period, where the system forces its colours', async () => {
    const { base } = await everything()
    const { page } = await open(base, { colorScheme: 'dark', forcedColors: 'active' })
    await page.goto(base)
    await page.locator('#chart canvas').waitFor()
    const stylesOf = (selector: string, property: string) =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll('${selector}')].map((each) => getComputedStyle(each).${property})`,
      )
    // --dead, --quarantined, --plain and --handled of the dark scheme. The time has no colour.
    expect((await stylesOf('.u-marker', 'backgroundColor')).slice(-4)).toEqual([
      'rgb(255, 154, 144)',
      'rgb(240, 185, 92)',
      'rgb(163, 175, 191)',
      'rgb(121, 207, 159)',
    ])
    expect(await stylesOf('.switch a', 'fontWeight')).toEqual(['600', '400', '400'])
  })
})
