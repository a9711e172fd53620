import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions } from 'playwright-core'

const executablePath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
  .find((path) => existsSync(path))

if (executablePath === undefined)
  process.stderr.write('tests in a browser are skipped; to install one: apt-get install chromium\n')

/** `describe`, skipped where there is no Chromium. */
export const describeWithChromium = executablePath === undefined ? describe.skip : describe

let browser: Promise<Browser> | undefined
const contexts: BrowserContext[] = []

/** A browser without cookies and cache, which is closed after the test. */
export async function openContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  browser ??= launch()
  const context = await (await browser).newContext(options)
  context.setDefaultTimeout(WAIT_MS)
  contexts.push(context)
  return context
}

function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: executablePath!,
    // The sandbox of Chromium cannot run as root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
}

// Beside the crash tests, on two cores, Chromium took more than ten seconds for one page.
const WAIT_MS = 60_000
const LIMIT_MS = 3 * WAIT_MS
if (executablePath !== undefined) {
  jest.setTimeout(LIMIT_MS)
  beforeAll(() => (browser ??= launch()).then(() => undefined), LIMIT_MS)
}

afterEach(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()))
})
afterAll(async () => (await browser)?.close())
