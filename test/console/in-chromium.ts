import { source as axeSource } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { createReceiver } from '../../src/index.js'
import { openContext } from '../support/chromium.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'
import { runConsole } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

export const DEAD = {
  move: 'deadLetter',
  error: 'the ledger did not answer',
  code: 'ERR_HANDLER_FAILED',
} as const
export const SUSPECT = { suspicion: 'it was signed long ago' }

/** A page of a browser. At its end `problems` has what a page of the console must not do. */
export async function open(
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
export async function everything() {
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

/** Lets the page ask the console again and again, by the clock of the page, until something is true. */
export async function pollUntil(page: Page, isReached: () => Promise<boolean>): Promise<void> {
  while (!(await isReached())) {
    // By the clock of the page, a request that takes a moment would take longer than htmx waits.
    await page.locator('.htmx-request').first().waitFor({ state: 'detached' })
    await page.clock.runFor(5_000)
  }
}

/** What axe finds wrong with a page. */
export async function findings(page: Page): Promise<string[]> {
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
