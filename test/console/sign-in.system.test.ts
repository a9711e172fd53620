import type { IncomingMessage } from 'node:http'
import { createStandaloneConsole } from '../../src/console/sign-in/standalone-console.js'
import {
  parseStandaloneConsole,
  type StandaloneConsoleOptions,
} from '../../src/console/sign-in/standalone-console-options.js'
import { EventChannel } from '../../src/events/event-channel.js'
import { INBOX } from '../../src/inbox/inbox.js'
import { collectedLog } from '../support/collected-log.js'
import { browse, hiddenFields, serveUntilEnd, textOf } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

const PASSWORD = 'correct horse battery'
const USERS = [
  { name: 'ada', password: PASSWORD, role: 'decide' },
  { name: 'bob', password: 'another long password', role: 'view' },
] as const
const PLACE = { option: 'admin', part: 'admin: console' }
const DEAD = { move: 'deadLetter', error: 'the ledger did not answer' } as const

const parse = (options: StandaloneConsoleOptions, address = '127.0.0.1') =>
  parseStandaloneConsole('serve', PLACE, options, address)

async function run(options: StandaloneConsoleOptions = { users: USERS }, address?: string) {
  const seeded = seededInbox()
  const log = collectedLog()
  const source = { events: new EventChannel(() => {}), [INBOX]: seeded.inbox }
  const console = createStandaloneConsole('serve', source, parse(options, address), log)
  const base = `${await serveUntilEnd((req: IncomingMessage, res) => console.handle(req, res))}/`
  return { ...seeded, log, ...browse(base) }
}

async function signIn({ get, post }: ReturnType<typeof browse>, name = 'ada', password = PASSWORD) {
  return post('sign-in', { ...hiddenFields(await get('sign-in')), name, password })
}

describe('a console with users', () => {
  it('shows nothing before the sign-in, and leads to the page that was asked for', async () => {
    const { get, post, add } = await run()
    await add(DEAD)
    const asked = await get('entries?state=dead&reason=x')
    expect([asked.status, asked.text]).toEqual([303, ''])
    const signInPage = await get(asked.headers.get('Location')!)
    expect(textOf(signInPage)).not.toContain('dead')
    const action = /action="(sign-in[^"]*)"/.exec(signInPage.text)![1]!
    const fields = { ...hiddenFields(signInPage), name: 'ada', password: PASSWORD }
    const done = await post(action, fields)
    expect([done.status, done.headers.get('Location')]).toEqual([303, './entries?state=dead&reason=x'])
    expect((await get('entries?state=dead')).status).toBe(200)
  })

  it('has a session in a cookie that scripts and forms of other sites do not get', async () => {
    const browsing = await run()
    const cookie = (await signIn(browsing)).headers.get('Set-Cookie')
    expect(cookie).toMatch(
      /^countersign-session-(\d+)-\1=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/,
    )
  })

  it('writes the name of the user into the history', async () => {
    const browsing = await run()
    const id = await browsing.add(DEAD)
    await signIn(browsing)
    const fields = hiddenFields(await browsing.get(`entry?id=${id}`))
    expect((await browsing.post(`entry?id=${id}`, { ...fields, action: 'discard' })).status).toBe(303)
    expect((await browsing.inbox.show(id))!.history).toMatchObject([{ by: 'ada', action: 'discard' }])
  })

  it('lets a user with the role view only look', async () => {
    const browsing = await run()
    const id = await browsing.add(DEAD)
    await signIn(browsing, 'bob', USERS[1].password)
    expect((await browsing.get(`entry?id=${id}`)).text).not.toContain('<form class="decide"')
    expect((await browsing.post(`entry?id=${id}`, { action: 'discard' })).status).toBe(403)
  })

  it.each([
    ['a wrong password', 'ada', 'correct horse batterY'],
    ['a name that nobody has', 'mallory', PASSWORD],
    ['the password of another', 'bob', PASSWORD],
    ['no password', 'ada', ''],
    ['a name of every object', '__proto__', PASSWORD],
  ])('refuses %s, and does not log what was typed', async (_, name, password) => {
    const browsing = await run()
    const answer = await signIn(browsing, name, password)
    expect([answer.status, textOf(answer)]).toEqual([
      403,
      expect.stringContaining('Name or password is wrong.'),
    ])
    expect((await browsing.get('./')).status).toBe(303)
    expect(browsing.log.withCode('WARN_SIGN_IN_FAILED')).toHaveLength(1)
    for (const typed of [name, password].filter(Boolean)) expect(browsing.log.text()).not.toContain(typed)
  })

  it.each([
    ['without its token', { token: '' }, {}],
    ['from another site', {}, { 'Sec-Fetch-Site': 'cross-site' }],
  ])('refuses a sign-in %s, with the right password', async (_, more, headers) => {
    const { get, post } = await run()
    const fields = { ...hiddenFields(await get('sign-in')), name: 'ada', password: PASSWORD, ...more }
    expect((await post('sign-in', fields, headers)).status).toBe(403)
    expect((await get('./')).status).toBe(303)
  })

  it('sets no cookie in the answer to a form of another site, which has no cookie of the browser', async () => {
    const { get, base } = await run()
    const headers = { 'Sec-Fetch-Site': 'cross-site' }
    const answer = await browse(base).post('sign-in', hiddenFields(await get('sign-in')), headers)
    expect([answer.status, answer.headers.get('Set-Cookie')]).toEqual([403, null])
    expect(textOf(answer)).toContain('it must pass on the Host header')
  })

  it('shows control characters in the name that was typed as escapes', async () => {
    const browsing = await run()
    const { status, text } = await signIn(browsing, 'a\u202eb\u0007', 'wrong')
    expect(status).toBe(403)
    expect(text).toContain('value="a\\u{202e}b\\u{7}"')
  })

  it('refuses further attempts for a while after five failures, also with the right password', async () => {
    const browsing = await run()
    for (let failures = 0; failures < 5; failures++)
      expect((await signIn(browsing, 'ada', `wrong password ${failures}`)).status).toBe(403)
    const answer = await signIn(browsing)
    expect([answer.status, answer.headers.get('Retry-After')]).toEqual([429, '1'])
    expect(textOf(answer)).toContain('There were too many wrong passwords. Try again in 1 s.')
    expect((await browsing.get('./')).status).toBe(303)
  })

  it('does not lock a user out of a browser that is known, whoever guesses at the same address', async () => {
    const browsing = await run()
    expect((await signIn(browsing)).status).toBe(303)
    const attacker = browse(browsing.base)
    for (let failures = 0; failures < 6; failures++)
      expect((await signIn(attacker, 'ada', 'wrong password')).status).toBe(failures < 5 ? 403 : 429)
    expect((await signIn(attacker)).status).toBe(429)
    expect((await signIn(attacker, 'bob', USERS[1].password)).status).toBe(303)
    expect((await signIn(browsing)).status).toBe(303)
  })

  it('lets every user in who has the password, whatever was tried for names that nobody has', async () => {
    const browsing = await run()
    const attacker = browse(browsing.base)
    const fields = hiddenFields(await attacker.get('sign-in'))
    for (let count = 0; count < 150; count++)
      await attacker.post('sign-in', { ...fields, name: `nobody ${count}`, password: 'wrong password' })
    expect((await signIn(browsing)).status).toBe(303)
    expect((await signIn(browse(browsing.base), 'bob', USERS[1].password)).status).toBe(303)
    expect(browsing.log.withCode('WARN_SIGN_IN_FAILED').length).toBeLessThan(150)
  })

  it('does not end the session of a user when another signs in again and again', async () => {
    const browsing = await run()
    await signIn(browsing)
    for (let count = 0; count < 1_010; count++) {
      const { status } = await signIn(browse(browsing.base), 'bob', USERS[1].password)
      expect(status).toBe(303)
    }
    expect((await browsing.get('./')).status).toBe(200)
  })

  it('ends the session on the server when somebody signs out', async () => {
    const browsing = await run()
    const cookie = (await signIn(browsing)).headers.get('Set-Cookie')!.split(';')[0]!
    const page = await browsing.get('./')
    const token = /action="sign-out"><input type="hidden" name="token" value="([^"]+)"/.exec(page.text)![1]!
    expect((await browsing.post('sign-out', { token: 'x' })).headers.get('Location')).toBe('./')
    expect((await browsing.get('./')).status).toBe(200)
    expect((await browsing.post('sign-out', { token })).headers.get('Location')).toBe('sign-in')
    expect((await browse(browsing.base).get('./', { Cookie: cookie })).status).toBe(303)
  })

  it('ends the earlier session of the browser when somebody signs in again, and no other', async () => {
    const browsing = await run()
    const elsewhere = browse(browsing.base)
    const earlier = (await signIn(browsing)).headers.get('Set-Cookie')!.split(';')[0]!
    await signIn(elsewhere)
    expect((await signIn(browsing, 'ada', 'wrong password')).status).toBe(403)
    expect((await browse(browsing.base).get('./', { Cookie: earlier })).status).toBe(200)
    await signIn(browsing, 'bob', USERS[1].password)
    expect((await browse(browsing.base).get('./', { Cookie: earlier })).status).toBe(303)
    for (const each of [browsing, elsewhere]) expect((await each.get('./')).status).toBe(200)
  })

  it('answers 401 to what a page polls and to forms, when the session has ended', async () => {
    const { get, post } = await run()
    expect((await get('live/overview')).status).toBe(401)
    expect((await post('entry?id=1', { action: 'discard' })).status).toBe(401)
  })

  it.each(['a/b', 'entries/', '/', 'a%2fb', 'nothing'])(
    'answers 401 and does not redirect for %s, which is no page',
    async (path) => {
      const { base } = await run()
      const answer = await fetch(`${base}${path}`, { redirect: 'manual' })
      expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('not signed in')])
    },
  )

  it.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    'live/overview',
    'javascript:alert(1)',
    'entries/../x',
  ])('leads to the overview after a sign-in for %s', async (to) => {
    const { get, post } = await run()
    const path = `sign-in?${new URLSearchParams({ to })}`
    const fields = { ...hiddenFields(await get(path)), name: 'ada', password: PASSWORD }
    expect((await post(path, fields)).headers.get('Location')).toBe('./')
  })
})

describe('a console without users', () => {
  it('lets everybody on this machine look, and nobody decide', async () => {
    const { get, post, add } = await run({})
    const id = await add(DEAD, { body: '{"Id":"unseen"}', bodyId: 'y' })
    const page = await get(`entry?id=${id}`)
    expect(page.status).toBe(200)
    expect(page.text).not.toContain('unseen')
    expect((await post(`entry?id=${id}`, { action: 'discard' })).status).toBe(403)
  })

  it.each(['0.0.0.0', '::', '10.0.0.5', 'callbacks.internal'])('is refused on %s', (address) => {
    expect(() => parse({}, address)).toThrow(
      expect.objectContaining({
        option: 'admin',
        message: expect.stringMatching(/admin: console: users is empty/),
      }),
    )
    expect(() => parse({ users: USERS }, address)).not.toThrow()
  })
})

describe('the Host header', () => {
  const answerTo = async (base: string, host: string): Promise<IncomingMessage> => {
    const { request } = await import('node:http')
    return new Promise((resolve, reject) => {
      const sent = request(base, { headers: { Host: host }, agent: false }, (response) =>
        resolve(response.resume()),
      )
      sent.on('error', reject).end()
    })
  }
  const statusWith = async (base: string, host: string) => (await answerTo(base, host)).statusCode

  it('must name this machine on a loopback address, or a configured host', async () => {
    const { base } = await run({ hosts: ['callbacks.internal'] })
    for (const host of [
      '127.0.0.1',
      'localhost:9000',
      '[::1]:80',
      'callbacks.internal',
      'CALLBACKS.internal:443',
    ])
      expect([host, await statusWith(base, host)]).toEqual([host, 200])
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example', '10.0.0.5'])
      expect([host, await statusWith(base, host)]).toEqual([host, 421])
  })

  it('is answered with the headers of every page when it is refused', async () => {
    const { base } = await run({})
    const { headers } = await answerTo(base, 'evil.example')
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
  })

  it('may be any on another address, where a session is needed anyway', async () => {
    const { base } = await run({ users: USERS }, '0.0.0.0')
    expect(await statusWith(base, '10.0.0.5:9000')).toBe(303)
  })
})

test.each<[string, unknown]>([
  ['users that are no list', { users: {} }],
  ['a user without a name', { users: [{ ...USERS[0], name: '' }] }],
  ['a user with a short password', { users: [{ ...USERS[0], password: 'elevenchars' }] }],
  ['a password with a line end', { users: [{ ...USERS[0], password: `${PASSWORD}\n` }] }],
  ['a user without a password', { users: [{ ...USERS[0], password: undefined }] }],
  ['a user with another role', { users: [{ ...USERS[0], role: 'admin' }] }],
  ['two users of one name', { users: [USERS[0], USERS[0]] }],
  ['an unknown option of a user', { users: [{ ...USERS[0], passwd: 'x' }] }],
  ['a host with a port', { hosts: ['a.example:80'] }],
  ['an unknown option', { user: [] }],
  ['another access to bodies', { bodies: true }],
])('%s is refused, without a password in the message', (_, options) => {
  let thrown: Error | undefined
  try {
    parse(options as StandaloneConsoleOptions)
  } catch (error) {
    thrown = error as Error
  }
  expect(thrown).toMatchObject({ option: 'admin', message: expect.stringContaining('admin: console') })
  expect(thrown!.message).not.toMatch(/correct horse|elevenchars/)
})

test('a process without an inbox has no console', () => {
  const source = { events: new EventChannel(() => {}), [INBOX]: undefined }
  expect(() => createStandaloneConsole('serve', source, parse({}), collectedLog())).toThrow(
    expect.objectContaining({ option: 'admin' }),
  )
})
