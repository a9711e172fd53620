import express from 'express'
import { createConsole, type ConsoleOptions } from '../../src/console.js'
import type { Arrival } from '../../src/inbox/engine.js'
import { ADA, browse, hiddenFields, HOSTS, runConsole, serveUntilEnd, textOf } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

const DEAD = { move: 'deadLetter', error: 'the ledger did not answer', code: 'ERR_HANDLER_FAILED' } as const

const POLICY =
  "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';form-action 'self';frame-ancestors 'none';base-uri 'none'"

describe('every answer', () => {
  it('forbids what the pages do not need', async () => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const { get } = browse(await runConsole({ inbox }))
    for (const path of [
      './',
      'entries',
      `entry?id=${id}`,
      'no-such-page',
      'live/overview',
      `body?id=${id}`,
    ]) {
      expect(Object.fromEntries((await get(path)).headers)).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': POLICY,
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      })
    }
  })

  it('has no inline script, style or handler', async () => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const { get } = browse(await runConsole({ inbox }))
    for (const path of ['./', 'entries', `entry?id=${id}`, 'refused', 'decide?state=dead&action=retry']) {
      const { text } = await get(path)
      expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=|javascript:/i)
    }
  })

  it('lets browsers keep an asset, the name of which contains its hash', async () => {
    const { inbox } = seededInbox()
    const { get } = browse(await runConsole({ inbox }))
    const paths = [...(await get('./')).text.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(
      ([, path]) => path!,
    )
    expect(new Set(paths).size).toBe(6)
    for (const path of paths) {
      const { status, headers } = await get(path)
      expect([status, headers.get('Cache-Control')]).toEqual([200, 'private, max-age=31536000, immutable'])
    }
    for (const path of [
      'assets/console.css',
      'assets/../console.js',
      'assets/%2e%2e%2fpackage.json',
      'assets/',
    ])
      expect((await get(path)).status).toBe(404)
  })
})

const SCRIPT = '"\'><script>alert(1)</script><img src=x onerror=alert(2)>'

test('every field of an entry is escaped', async () => {
  const { inbox, clock, add } = seededInbox()
  const headers: Arrival['headers'] = { pairs: [[`X-${SCRIPT}`, `v${SCRIPT}`]], isCut: false }
  const hostile = (name: string) => `${name}${SCRIPT}`
  const id = await add(
    { move: 'deadLetter', error: hostile('error'), code: 'ERR_HANDLER_FAILED' },
    {
      type: hostile('type'),
      idempotencyKey: hostile('key'),
      bodyId: hostile('id'),
      body: JSON.stringify({ Id: hostile('payload') }),
      headers,
    },
  )
  await inbox.act(id, 'discard', hostile('by'), { reason: hostile('why') })
  const operator = () => ({ name: hostile('me'), role: 'decide' as const })
  const { get } = browse(await runConsole({ inbox, clock, operator }))
  const query = new URLSearchParams({
    type: hostile('type'),
    reason: SCRIPT,
    bodyId: hostile('id'),
    key: 'x',
  })
  const paths = [
    './',
    'entries',
    `entries?${query}`,
    `entry?id=${id}`,
    `entry?id=${id}&view=raw`,
    `live/entries?id=${id}`,
  ]
  for (const path of paths) {
    const { text } = await get(path)
    expect([path, /<script>|<img src=x/.exec(text)?.[0]]).toEqual([path, undefined])
  }
  // They are shown, and not left out.
  const shown = textOf(await get(`entry?id=${id}&view=raw`))
  for (const name of ['error', 'type', 'key', 'id', 'by', 'why', 'me', 'v'])
    expect(shown).toContain(hostile(name))
})

test('characters that reverse or hide text are shown as escapes', async () => {
  const { inbox, add } = seededInbox()
  const id = await add(
    { ...DEAD, error: 'paid\u202e\u0007' },
    { bodyId: 'a\u200bb', body: '{"Id":"\u202e"}' },
  )
  const { text } = await browse(await runConsole({ inbox })).get(`entry?id=${id}`)
  for (const character of '\u202e\u200b\u0007') expect(text).not.toContain(character)
  expect(text).toContain('paid\\u{202e}\\u{7}')
})

test('such characters that an operator typed are shown as escapes as well', async () => {
  const { inbox, add } = seededInbox()
  const path = `entry?id=${await add(DEAD)}`
  const { get, post } = browse(await runConsole({ inbox }))
  const typed = 'a\u202eb\u0007c'
  const fields = ['type', 'subscription', 'key', 'bodyId', 'reason', 'after', 'before']
  const list = await get(
    `entries?${new URLSearchParams(Object.fromEntries(fields.map((name) => [name, typed])))}`,
  )
  const decision = await post(path, { ...hiddenFields(await get(path)), action: 'discard', reason: typed })
  expect([list.status, decision.status]).toEqual([400, 400])
  for (const { text } of [list, decision])
    for (const character of '\u202e\u0007') expect(text).not.toContain(character)
  expect(list.text.match(/value="a\\u\{202e\}b\\u\{7\}c"/g)).toHaveLength(fields.length)
  expect(decision.text).toContain('value="a\\u{202e}b\\u{7}c"')
})

describe('a form', () => {
  async function form(options: Partial<ConsoleOptions> = {}, host: (typeof HOSTS)[number] = 'Express 5') {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const base = await runConsole({ inbox, ...options }, host)
    const browsing = browse(base)
    const path = `entry?id=${id}`
    const fields: Record<string, string> = {
      ...hiddenFields(await browsing.get(path)),
      action: 'discard',
    }
    const isDone = async () => (await inbox.show(id))!.state === 'discarded'
    return { ...browsing, path, fields, isDone }
  }

  it.each([
    ['no token', { token: '' }, 403],
    ['a made-up token', { token: 'A'.repeat(43) }, 403],
  ])('with %s is refused', async (_, more, status) => {
    const { post, path, fields, isDone } = await form()
    expect([(await post(path, { ...fields, ...more })).status, await isDone()]).toEqual([status, false])
  })

  it('with the token of another browser is refused', async () => {
    const { post, path, fields, base, get, isDone } = await form()
    const other = browse(base)
    const theirs = hiddenFields(await other.get(path))
    expect(theirs['token']).not.toBe(fields['token'])
    expect((await post(path, { ...fields, token: theirs['token']! })).status).toBe(403)
    expect(hiddenFields(await get(path))['token']).toBe(fields['token'])
    expect(await isDone()).toBe(false)
  })

  it('with the token of another operator is refused', async () => {
    let operator = ADA
    const { post, path, fields, isDone } = await form({ operator: () => operator })
    operator = { name: 'eve', role: 'decide' }
    expect([(await post(path, fields)).status, await isDone()]).toEqual([403, false])
  })

  it.each([
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['another host of the same site', { 'Sec-Fetch-Site': 'same-site' }],
    ['another origin', { Origin: 'https://evil.example' }],
    ['another port', { Origin: 'http://127.0.0.1:1' }],
    ['an origin that is hidden', { Origin: 'null' }],
  ])('from %s is refused', async (_, headers) => {
    const { post, path, fields, isDone } = await form()
    expect([(await post(path, fields, headers)).status, await isDone()]).toEqual([403, false])
  })

  it('of an operator who may only look is refused', async () => {
    let operator = ADA
    const { post, path, fields, isDone } = await form({ operator: () => operator })
    operator = { ...ADA, role: 'view' }
    expect([(await post(path, fields)).status, await isDone()]).toEqual([403, false])
  })

  it('that is too large is refused before it is read', async () => {
    const { post, path, fields, isDone } = await form()
    const answer = await post(path, { ...fields, reason: 'x'.repeat(70_000) })
    expect([answer.status, answer.headers.get('Connection'), await isDone()]).toEqual([413, 'close', false])
  })

  it('that is no form is refused', async () => {
    const { post, path, fields, isDone } = await form()
    const answer = await post(path, fields, { 'Content-Type': 'application/json' })
    expect([answer.status, await isDone()]).toEqual([415, false])
  })

  it.each([
    ['its fields', express.urlencoded({ extended: false })],
    ['its bytes', express.raw({ type: () => true })],
    ['its text', express.text({ type: () => true })],
  ])('is taken from a body parser of the application that leaves %s', async (_, parser) => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const app = express()
    app.use(parser)
    app.use('/c', createConsole({ inbox, operator: () => ADA }))
    const { get, post } = browse(`${await serveUntilEnd(app)}/c/`)
    const fields = hiddenFields(await get(`entry?id=${id}`))
    expect((await post(`entry?id=${id}`, { ...fields, action: 'discard' })).status).toBe(303)
    expect((await post(`entry?id=${id}`, { ...fields, token: 'x', action: 'discard' })).status).toBe(403)
  })

  it('sets a cookie that scripts and forms of other sites do not get, and Secure behind https', async () => {
    const { inbox } = seededInbox()
    const base = await runConsole({ inbox })
    const cookie = /^countersign-form=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax/
    const first = (await browse(base).get('./')).headers.get('Set-Cookie')
    expect(first).toMatch(new RegExp(`${cookie.source}$`))
    for (const protocols of ['https', 'https, http', 'HTTPS,http']) {
      const { headers } = await browse(base).get('./', { 'X-Forwarded-Proto': protocols })
      expect(headers.get('Set-Cookie')).toMatch(new RegExp(`${cookie.source}; Secure$`))
    }
  })
})

test('a cookie that the application sets stays beside that of the console', async () => {
  const { inbox } = seededInbox()
  const app = express()
  app.use((_, response, next) => {
    response.cookie('session', 'of the application')
    next()
  })
  app.use('/c', createConsole({ inbox, logger: false }))
  const { headers } = await browse(`${await serveUntilEnd(app)}/c/`).get('./')
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(/^session=/),
    expect.stringMatching(/^countersign-form=/),
  ])
})

describe('who may use it', () => {
  it('is decided by the application', async () => {
    const { inbox } = seededInbox()
    const answer = await browse(await runConsole({ inbox, operator: async () => undefined })).get('./')
    expect([answer.status, textOf(answer)]).toEqual([403, expect.stringContaining('not permitted')])
  })

  it('is everybody who reaches it if no operator is named, and nobody may decide', async () => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD, { body: '{"Id":"unseen"}', bodyId: 'y' })
    const { get, post } = browse(await runConsole({ inbox, operator: undefined }))
    const page = await get(`entry?id=${id}`)
    expect(page.status).toBe(200)
    expect(page.text).not.toContain('unseen')
    expect(page.text).not.toContain('<form class="decide"')
    expect((await post(`entry?id=${id}`, { action: 'discard' })).status).toBe(403)
  })
})
