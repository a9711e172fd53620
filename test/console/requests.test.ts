import { request } from 'node:http'
import express from 'express'
import { createConsole, type ConsoleOptions } from '../../src/console.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { EventChannel } from '../../src/events/event-channel.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { INBOX } from '../../src/inbox/inbox.js'
import { collectedLog } from '../support/collected-log.js'
import { FORGED, genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { ADA, BOB, browse, HOSTS, runConsole, serveUntilEnd, textOf } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

describe('a request', () => {
  it.each([
    ['PUT', './', 405, 'GET, HEAD, POST'],
    ['DELETE', 'entry?id=1', 405, 'GET, HEAD, POST'],
    ['POST', './', 405, 'GET, HEAD'],
    ['POST', 'entries', 405, 'GET, HEAD'],
    ['POST', 'assets/x', 405, 'GET, HEAD'],
  ])('%s %s is answered %d', async (method, path, status, allow) => {
    const { inbox } = seededInbox()
    const response = await fetch(new URL(path, await runConsole({ inbox })), { method })
    expect([response.status, response.headers.get('Allow')]).toEqual([status, allow])
  })

  it.each(HOSTS)('with a hostile address is answered, and not 500, in %s', async (host) => {
    const { inbox } = seededInbox()
    const base = new URL(await runConsole({ inbox }, host))
    const statusOf = (path: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const sent = request({ host: base.hostname, port: base.port, path, agent: false }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
        sent.on('error', reject).end()
      })
    const tails = [
      '%',
      '%zz',
      '..%2f..%2f',
      '//evil.example/',
      '%00',
      '__proto__',
      'constructor',
      'entry?id=%zz',
      'entries?state[]=x&after=%00',
    ]
    for (const tail of tails) expect([200, 303, 400, 404]).toContain(await statusOf(base.pathname + tail))
    expect(await statusOf(`${base.pathname}?${'x'.repeat(8_192)}`)).toBe(414)
  })

  it.each(HOSTS)('whose address is a whole URL is answered as one with a path, in %s', async (host) => {
    const { inbox } = seededInbox()
    const base = new URL(await runConsole({ inbox }, host))
    const ask = (path: string) =>
      new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
        const sent = request({ host: base.hostname, port: base.port, path, agent: false }, (response) => {
          response.resume()
          resolve([response.statusCode, response.headers.location])
        })
        sent.on('error', reject).end()
      })
    expect(await ask(base.href)).toEqual([200, undefined])
    expect(await ask(new URL('entries?state=dead', base).href)).toEqual([200, undefined])
    expect(await ask(new URL('nothing', base).href)).toEqual([404, undefined])
    if (host !== 'node:http') expect(await ask(base.href.replace(/\/$/, ''))).toEqual([303, './callbacks/'])
  })

  it('that a login in front has answered, and passed on nevertheless, is logged', async () => {
    const log = collectedLog()
    const app = express()
    app.use(
      (_, response, next) => {
        response.redirect('/login')
        next()
      },
      createConsole({ inbox: new MemoryInbox(), logger: log }),
    )
    const answer = await browse(`${await serveUntilEnd(app)}/`).get('./')
    expect([answer.status, answer.headers.get('Location')]).toEqual([302, '/login'])
    await until(() => log.withCode('ERR_CONSOLE_FAILED').length === 1)
  })

  it('with HEAD has the headers of GET and no body', async () => {
    const { inbox } = seededInbox()
    const response = await fetch(await runConsole({ inbox }), { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(Number(response.headers.get('Content-Length'))).toBeGreaterThan(1_000)
  })

  it('is answered 503 while the inbox cannot be read, with the cause in the log only', async () => {
    const log = collectedLog()
    const inbox = Object.assign(Object.create(new MemoryInbox()) as MemoryInbox, {
      stats: () => Promise.reject(new Error('password=hunter2 is wrong')),
    })
    const answer = await browse(await runConsole({ inbox, logger: log })).get('./')
    expect(answer.status).toBe(503)
    expect(answer.text).not.toContain('hunter2')
    expect(log.withCode('ERR_CONSOLE_FAILED')).toHaveLength(1)
  })
})

describe('the page of refused requests', () => {
  it('counts them by reason, and has no body and no signature', async () => {
    const { receiver, send } = await runReceiver({ inbox: new MemoryInbox() })
    const { get } = browse(await runConsole({ receiver }))
    await send(genuine({ headers: { Authorization: FORGED }, body: '{"Id":"secret-payload"}' }))
    await send(genuine({ headers: { Authorization: FORGED, 'X-Event-Type': '<b>type' } }))
    const page = await get('refused')
    expect(textOf(page)).toMatch(/ERR_SIGNATURE_MISMATCH 2 2 .*no subscription has this signature/)
    expect(page.text).toContain('&lt;b&gt;type')
    expect(page.text).not.toMatch(/secret-payload|AAAA/)
  })

  it('names each cause that the diagnosis found once, with how often', async () => {
    const events = new EventChannel(() => {})
    const { get } = browse(await runConsole({ receiver: { events, [INBOX]: new MemoryInbox() } }))
    const found = { certainty: 'proven', cure: 'Configure the decoded text.' } as const
    for (let times = 0; times < 3; times++)
      events.publish('explained', { ...found, cause: 'secret-is-base64' })
    events.publish('explained', { ...found, cause: 'url-path', togetherWith: 'secret-is-base64' })
    const page = await get('refused')
    expect(textOf(page)).toMatch(
      / 1 url-path, secret-is-base64 proven .* 3 secret-is-base64 proven Configure/,
    )
    for (let cause = 0; cause < 100; cause++)
      events.publish('explained', { ...found, cause: `cause-${cause}` })
    expect((await get('refused')).text.match(/Configure the decoded/g)).toHaveLength(20)
  })

  it('keeps a bounded number of them', async () => {
    const { receiver } = await runReceiver({ inbox: new MemoryInbox(), diagnosis: false })
    const { get } = browse(await runConsole({ receiver }))
    const forged = genuine({ headers: { Authorization: FORGED } })
    const plain = { method: 'POST', path: '/', headers: forged.headers, body: forged.body }
    for (let sent = 0; sent < 200; sent++) await receiver.receive(plain)
    const { text } = await get('refused')
    expect(text).toMatch(/<td class="number" data-label="Since the start">200<\/td>/)
    expect(text.match(/<td class="number">401/g)).toHaveLength(50)
  })

  it('announces that its lists lack a request or a cause', async () => {
    const events = new EventChannel(() => {})
    const { receiver, send } = await runReceiver({ inbox: new MemoryInbox(), diagnosis: false })
    receiver.events.on('refused', (event) => events.publish('refused', event))
    const { get } = browse(await runConsole({ receiver: { events, [INBOX]: new MemoryInbox() } }))
    const changesHref = async () =>
      / hx-get="(live\/refused-changes[^"]*)"/.exec((await get('refused')).text)![1]!
    const isChanged = async (href: string) => (await get(href)).text.includes('>Update lists</a>')
    const none = await changesHref()
    expect(await isChanged(none)).toBe(false)
    await send(genuine({ headers: { Authorization: FORGED } }))
    const one = await changesHref()
    expect([await isChanged(none), await isChanged(one)]).toEqual([true, false])
    events.publish('explained', { cause: 'url-path', certainty: 'likely', cure: 'Configure the path.' })
    expect([await isChanged(one), await isChanged(await changesHref())]).toEqual([true, false])
  })

  it('says so where it has only an inbox, of which the process may have a receiver', async () => {
    const { inbox } = seededInbox()
    const page = textOf(await browse(await runConsole({ inbox })).get('refused'))
    expect(page).toContain('sees only the inbox')
    expect(page).not.toContain('accepts no callbacks')
  })
})

test('the query of a callback URL, which may contain a token, is not shown', async () => {
  const inbox = new MemoryInbox()
  const withToken = { ...subscription, callbackUrl: `${subscription.callbackUrl}?token=query-token` }
  const { send, receiver } = await runReceiver({ inbox, subscriptions: [withToken] })
  await receiver.start()
  await send(signedCallback({ subscription: withToken }))
  await receiver.idle()
  const { get } = browse(await runConsole({ receiver }))
  const [entry] = (await inbox.list({})).entries
  for (const path of ['./', 'entries', `entry?id=${entry!.id}`]) {
    const { status, text } = await get(path)
    expect([status, text.includes('query-token')]).toEqual([200, false])
  }
  await receiver.stop()
})

test('the overview names the secrets that verified callbacks by their fingerprint', async () => {
  const inbox = new MemoryInbox()
  const { receiver, send } = await runReceiver({ inbox })
  await receiver.start()
  const { get } = browse(await runConsole({ receiver }))
  await send(genuine())
  const page = await get('./')
  expect(textOf(page)).toMatch(/Secrets that verified callbacks .*[0-9a-f]{12} transfers\.book-completed/)
  expect(textOf(page)).toContain('agrees with the clock of the service')
  expect(page.text).not.toContain(subscription.secret)
  const [, fingerprint] = /([0-9a-f]{12})<.td><td>transfers/.exec(page.text)!
  expect((await get('live/overview')).text).toContain(fingerprint)
  await receiver.stop()
})

test('a secret that two subscriptions share is named with the event type of each', async () => {
  const other = { ...subscription, eventTypeName: 'transfers.other' }
  const { receiver, send } = await runReceiver({
    inbox: new MemoryInbox(),
    subscriptions: [subscription, other],
  })
  await receiver.start()
  const { get } = browse(await runConsole({ receiver }))
  await send(genuine())
  await send(signedCallback({ subscription: other }))
  const page = textOf(await get('./'))
  expect(page).toMatch(/ ([0-9a-f]{12}) transfers\.other .* \1 transfers\.book-completed /)
  await receiver.stop()
})

test.each<[string, unknown, string]>([
  ['neither an inbox nor a receiver', {}, 'inbox'],
  ['an object that is no inbox', { inbox: { stats() {} } }, 'inbox'],
  ['a receiver that is none', { receiver: {} }, 'receiver'],
  ['a receiver without an inbox', { receiver: { events: { on() {} }, [INBOX]: undefined } }, 'receiver'],
  ['both', { inbox: new MemoryInbox(), receiver: { events: { on() {} } } }, 'inbox'],
  ['another access to bodies', { inbox: new MemoryInbox(), bodies: 'all' }, 'bodies'],
  ['other reasons', { inbox: new MemoryInbox(), reasons: true }, 'reasons'],
  ['an operator that is no function', { inbox: new MemoryInbox(), operator: ADA }, 'operator'],
  ['an unknown option', { inbox: new MemoryInbox(), operators: () => BOB }, 'operators'],
])('createConsole refuses %s', (_, options, option) => {
  expect(() => createConsole(options as ConsoleOptions)).toThrow(expect.objectContaining({ option }))
})

test('after close it hears no more events of the receiver', async () => {
  const { receiver } = await runReceiver({ inbox: new MemoryInbox() })
  const console = createConsole({ receiver })
  const has = () => (receiver.events as unknown as { has(name: string): boolean }).has('refused')
  expect(has()).toBe(true)
  console.close()
  expect(has()).toBe(false)
})
