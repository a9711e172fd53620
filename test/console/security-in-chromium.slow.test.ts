import express from 'express'
import type { Page } from 'playwright-core'
import { createConsole, type Operator } from '../../src/console.js'
import type { Arrival } from '../../src/inbox/engine.js'
import type { WholeInbox } from '../support/whole-inbox.js'
import { createReceiver } from '../../src/index.js'
import { createStandaloneConsole } from '../../src/console/sign-in/standalone-console.js'
import {
  parseStandaloneConsole,
  type StandaloneConsoleOptions,
} from '../../src/console/sign-in/standalone-console-options.js'
import { describeWithChromium } from '../support/chromium.js'
import { subscription } from '../support/running-receiver.js'
import { ADA, runConsole, serveUntilEnd } from './browse.js'
import { DEAD, findings, open } from './in-chromium.js'
import { seededInbox } from './seeded-inbox.js'

/** What the payloads of the test would add to a page. */
const HOSTILE_ELEMENTS = 'img[src=x], [onerror], [onload], [hx-on\\:load], a[href^=javascript]'

describeWithChromium('the protections of the console in a browser', () => {
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
    const { base, close } = await standalone(inbox)
    const { page, problems } = await open(base)
    await page.goto(new URL(`entry?id=${id}`, base).href)
    expect(await findings(page)).toEqual([])
    await page.getByLabel('Name').fill('ada')
    await page.getByLabel('Password').fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('Name or password is wrong.').waitFor()
    // The name is there, so the password comes next.
    await page.keyboard.type('correct horse battery')
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
    close()
  })

  describe.each(['its own origin', 'another origin'])('behind a login on %s', (origin) => {
    async function behindLogin() {
      const seeded = seededInbox()
      const app = express()
      app.get('/login', (_, response) => void response.send('<title>Login</title>'))
      const own = await serveUntilEnd(app)
      const login = origin === 'its own origin' ? '/login' : `${await serveUntilEnd(app)}/login`
      const session = { isOpen: true }
      app.use(
        '/c',
        (_, response, next) => (session.isOpen ? next() : response.redirect(login)),
        createConsole({ inbox: seeded.inbox, operator: () => ADA, logger: false }),
      )
      const { page } = await open(own)
      return { ...seeded, base: `${own}/c/`, session, page }
    }

    it.each(['./', 'entries'])('%s leads to the login when the session has ended', async (path) => {
      const { base, session, page } = await behindLogin()
      await page.clock.install()
      await page.goto(new URL(path, base).href)
      await page.getByRole('heading', { level: 1 }).waitFor()
      session.isOpen = false
      const opened: string[] = []
      page.on('request', (request) => {
        if (request.isNavigationRequest() && !request.redirectedFrom()) opened.push(request.url())
      })
      await page.clock.runFor(5_000)
      await page.waitForURL('**/login')
      // Two parts of the overview ask at once. The second may not break off what the first has begun.
      expect(opened).toEqual([new URL(path, base).href])
    })

    it.each(['Discard', 'Show'])(
      'the button %s leads to the login when the session has ended',
      async (name) => {
        const { base, session, page, inbox, add } = await behindLogin()
        const id = await add(DEAD)
        await page.goto(new URL(name === 'Show' ? 'entries' : `entry?id=${id}`, base).href)
        session.isOpen = false
        await page.getByRole('button', { name }).click()
        await page.waitForURL('**/login')
        expect((await inbox.show(id))!.history).toEqual([])
      },
    )

    it('a page that is the answer to a form leads to the login when the session has ended', async () => {
      const { base, session, page, inbox, add } = await behindLogin()
      const id = await add(DEAD)
      await page.goto(new URL(`entry?id=${id}`, base).href)
      await inbox.act(id, 'retry', 'bob')
      await page.getByRole('button', { name: 'Discard' }).click()
      await page.getByText('Nothing was done').waitFor()
      session.isOpen = false
      await page.getByRole('button', { name: 'Discard' }).click()
      await page.waitForURL('**/login')
    })
  })

  it('says on an open page that the operator is no longer permitted to use it', async () => {
    let operator: Operator | undefined = ADA
    const base = await runConsole({ inbox: seededInbox().inbox, operator: () => operator })
    const { page } = await open(base)
    await page.clock.install()
    await page.goto(base)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    operator = undefined
    await page.clock.runFor(5_000)
    await page.getByText('You are not permitted to use this console.').waitFor()
  })

  // To such an address browsers send no Sec-Fetch-Site, and Origin depends on the Referrer-Policy of the page.
  it('signs in and decides over http to a host that is not this machine', async () => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const { base, close } = await standalone(inbox, { hosts: ['callbacks.internal'] })
    const { page } = await open('http://callbacks.internal/', { proxy: { server: base } })
    await page.goto(`http://callbacks.internal/entry?id=${id}`)
    await signIn(page)
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('cell', { name: 'ada' }).waitFor()
    expect((await inbox.show(id))!.history).toMatchObject([{ action: 'discard', by: 'ada' }])
    close()
  })

  it('is signed in when a link on another site leads to it', async () => {
    const { base, close } = await standalone(seededInbox().inbox)
    const chat = await serveUntilEnd((_, response) => response.end(`<a href="${base}entries">List</a>`))
    const { page } = await open(base)
    await page.goto(base)
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.goto(chat.replace('127.0.0.1', 'localhost'))
    await page.getByRole('link').click()
    await page.getByRole('heading', { name: 'Entries' }).waitFor()
    close()
  })

  it('keeps its cookies when a form of another site is sent to it', async () => {
    const { base, close } = await standalone(seededInbox().inbox)
    const mounted = await runConsole({ inbox: seededInbox().inbox }, 'node:http')
    const forms = [`${base}sign-in`, `${mounted}entry`].map(
      (action) => `<form method="post" action="${action}"><button>${action}</button></form>`,
    )
    const hostile = await serveUntilEnd((_, response) =>
      response.setHeader('Content-Type', 'text/html').end(forms.join('')),
    )
    const { page } = await open(base)
    await page.goto(mounted)
    await page.goto(base)
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const cookies = async () =>
      (await page.context().cookies(base)).map(({ name, value }) => `${name}=${value}`).sort()
    const before = await cookies()
    expect(before).toHaveLength(3)
    for (const action of [`${base}sign-in`, `${mounted}entry`]) {
      await page.goto(hostile.replace('127.0.0.1', 'localhost'))
      await page.getByRole('button', { name: action }).click()
      await page.waitForURL(action)
      await page.getByText('The form was sent by a page of another origin.').waitFor()
      expect(await cookies()).toEqual(before)
    }
    close()
  })

  it('is signed in to two consoles of one host at the same time', async () => {
    const consoles = [await standalone(seededInbox().inbox), await standalone(seededInbox().inbox)]
    const { page } = await open(consoles[0]!.base)
    for (const { base } of consoles) {
      await page.goto(base)
      await signIn(page)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    }
    for (const { base, close } of consoles) {
      await page.goto(base)
      expect(await page.title()).toBe('Overview · Countersign')
      close()
    }
  })
})

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('ada')
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** A console in a process of its own, in which ada may sign in. */
async function standalone(
  inbox: WholeInbox,
  options: StandaloneConsoleOptions = {},
): Promise<{ base: string; close: () => void }> {
  const receiver = createReceiver({ subscriptions: [subscription], inbox, logger: false })
  const users = [{ name: 'ada', password: 'correct horse battery', role: 'decide' }] as const
  const place = { option: 'admin', part: 'admin' }
  const settings = parseStandaloneConsole('serve', place, { users, ...options }, '127.0.0.1')
  const console = createStandaloneConsole('serve', receiver, settings, {
    debug() {},
    info() {},
    warn() {},
    error() {},
  })
  const origin = await serveUntilEnd((request, response) => {
    // A browser for which this server is a proxy sends the absolute form of the address.
    request.url = request.url!.replace(/^http:\/\/[^/]*/, '')
    console.handle(request, response)
  })
  return { base: `${origin}/`, close: () => console.close() }
}
