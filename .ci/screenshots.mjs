// Makes the pictures of the console in docs/images, from a receiver with made-up callbacks: npm run screenshots. It needs
// Chromium.
import { createServer } from 'node:http'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'
import { MemoryInbox, createReceiver } from '../dist/index.js'
import { createConsole } from '../dist/console.js'
import { signedCallback } from '../dist/testing.js'
import { root } from './packed-package.mjs'

const NOW = Date.UTC(2026, 10, 3, 9, 14, 27)
const TYPES = ['transfers.book-completed', 'transfers.book-failed']
const subscriptions = TYPES.map((eventTypeName) => ({
  eventTypeName,
  callbackUrl: `https://partner.example.com/hooks/${eventTypeName}`,
  secret: `a secret text for the pictures of ${eventTypeName}`,
}))

let now = NOW - 3_600_000
let seed = 7
const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647
const uuid = () =>
  'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replaceAll('x', () => Math.floor(random() * 16).toString(16))

const clock = () => now
const inbox = new MemoryInbox({ clock })
const receiver = createReceiver({ subscriptions, inbox, clock, logger: false, pollMs: 5, maxAttempts: 1 })
let fails = false
for (const type of TYPES) {
  receiver.on(type, () => {
    if (fails) throw new Error('the ledger did not answer within 5,000 ms')
  })
}
const operator = () => ({ name: 'ada@example.com', role: 'decide' })
const pages = createConsole({ receiver, clock, operator })
await receiver.start()

for (let sent = 0; sent < 260; sent++) {
  now += 13_800
  const chance = random()
  fails = chance > 0.965
  const subscription = subscriptions[random() < 0.8 ? 0 : 1]
  const signedAt = new Date(chance < 0.02 ? now - 2 * 86_400_000 : now)
  const body = JSON.stringify({ Id: uuid(), amount: { value: 12_50, currency: 'EUR' } })
  const callback = signedCallback({ subscription, body, timestamp: signedAt, idempotencyKey: uuid() })
  const { path, headers } = callback
  const isForged = chance > 0.5 && chance < 0.52
  if (isForged) headers.Authorization = `HMAC-SHA256 Signature=${'A'.repeat(43)}=`
  await receiver.receive({ method: 'POST', path, headers, body: callback.body })
  await receiver.idle()
}
now = NOW

const server = createServer((request, response) => pages(request, response, () => {}))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const base = `http://127.0.0.1:${server.address().port}/`
const [dead] = await inbox.list({ states: ['dead'] }, { newestFirst: true, limit: 1 })
await inbox.act(dead.id, 'retry', 'ada@example.com', { reason: 'the ledger is back' })
await inbox.act(dead.id, 'undo', 'ada@example.com', { reason: 'the ledger is down again' })

const folder = join(root, 'docs/images')
mkdirSync(folder, { recursive: true })
const executablePath = process.env.PATH.split(delimiter)
  .flatMap((directory) =>
    ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(directory, name)),
  )
  .find((path) => existsSync(path))
const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
const browser = await chromium.launch({ executablePath, args })
for (const [name, path, colorScheme] of [
  ['console-overview', './', 'light'],
  ['console-entry', `entry?id=${dead.id}`, 'dark'],
]) {
  const viewport = { width: 1_180, height: 820 }
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC' })
  const page = await context.newPage()
  await page.goto(new URL(path, base).href)
  if (path === './') await page.locator('#chart canvas').waitFor()
  await page.screenshot({ path: join(folder, `${name}.png`) })
  await context.close()
}
await browser.close()
server.close()
server.closeAllConnections()
pages.close()
await receiver.stop()
