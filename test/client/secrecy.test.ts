import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { format, inspect } from 'node:util'
import { ClientError, type ClientOptions } from '../../src/client/index.js'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import { loggedError } from '../../src/logging/logged-error.js'
import { collectedLog } from '../support/collected-log.js'
import { CLIENT_SECRET, clientOf, json, rejection, startService, tokenBody, type Answer } from './service.js'

const TOKEN = 'a-token_that.nobody~may+see/0123456789=='
const SECRET = 'the secret text of a subscription'
const HIDDEN = [CLIENT_SECRET, TOKEN, SECRET, Buffer.from(SECRET).toString('base64')]
const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/',
  secret: SECRET,
}

const giveToken: Answer = (response) => json(response, 200, tokenBody(TOKEN))

/** Answers with all that it was sent, in body and headers, as a careless service may. */
const echoing =
  (status: number): Answer =>
  (response, { headers, body }) =>
    json(
      response,
      status,
      { error: body, headers, secret: SECRET, access_token: `${TOKEN}\n`, token_type: TOKEN },
      { 'X-Echo': encodeURI(body), 'X-Authorization': headers.authorization ?? '' },
    )

/** Throws as HTTP clients do: with the whole request, and its headers in the message. */
const throwing: ClientOptions['fetch'] = (url, init) => {
  const below = Object.assign(new Error(`header ${init.headers['Authorization']} of ${init.body}`), {
    code: `E_${init.headers['Authorization']}`,
    request: init,
  })
  below.name = `Error of ${init.body}`
  const cause = Object.assign(new Error(`${url} ${init.body}`, { cause: below }), { config: init })
  throw Object.assign(new TypeError(`fetch failed: ${format(init)}`, { cause }), { init, errors: [below] })
}

type Failure = [name: string, answers: { token?: Answer; api?: Answer }, options?: Partial<ClientOptions>]

const FAILURES: Failure[] = [
  ['a token request that is refused', { token: echoing(400) }],
  ['a token request that is redirected', { token: echoing(302) }],
  ['a token request that fails', { token: echoing(500) }],
  ['a token that is of another type', { token: echoing(200) }],
  ['a token that is not answered', { token: () => {} }, { timeoutMs: 30 }],
  ['a connection that is cut', { token: giveToken, api: (_response, { socket }) => socket.destroy() }],
  [
    'a body that is cut',
    {
      token: giveToken,
      api: (response, { body, socket }) => {
        response.writeHead(200, { 'Content-Length': 10_000 })
        response.write(body, () => socket.destroy())
      },
    },
  ],
  [
    'an answer that is not HTTP',
    {
      token: giveToken,
      api: (_response, { headers, body, socket }) => socket.end(`${headers.authorization} ${body}\r\n\r\n`),
    },
  ],
  [
    'an answer with a header that is not HTTP',
    {
      token: giveToken,
      api: (_response, { headers, body, socket }) =>
        socket.end(`HTTP/1.1 200 OK\r\n${headers.authorization} ${body}\r\n\r\n`),
    },
  ],
  ['no answer', { token: giveToken, api: () => {} }, { timeoutMs: 30 }],
  [
    'an answer that is too large',
    { token: giveToken, api: (response, { body }) => response.end(body.repeat(20_000)) },
  ],
  [
    'an answer in another encoding',
    {
      token: giveToken,
      api: (response, { body }) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(body),
    },
  ],
  ['a fetch that tells everything', {}, { fetch: throwing }],
  ['a fetch that throws a text', {}, { fetch: (_url, { body }) => Promise.reject(body) }],
  [
    'a fetch that fails with a token',
    {},
    {
      fetch: (url, init) =>
        url.endsWith('/token') ? Promise.resolve(Response.json(tokenBody(TOKEN))) : throwing(url, init),
    },
  ],
]

function everythingOf(error: unknown): string {
  const parts = [
    inspect(error, { showHidden: true, depth: Infinity }),
    format('%s %O %j', error, error, error),
    JSON.stringify(error),
    inspect(loggedError(error, new KnownSecrets())),
  ]
  for (let each: any = error; each; each = each.cause)
    parts.push(
      String(each),
      String(each.stack),
      String(each.message),
      String(each.code),
      JSON.stringify(each),
    )
  return parts.join('\n')
}

describe.each(FAILURES)('%s', (_name, answers, options) => {
  it('puts no secret and no token into its error, the log or the client', async () => {
    const logger = collectedLog()
    const client = clientOf(await startService(answers), { logger, maxAttempts: 2, ...options })
    const error = await rejection(client.subscriptions.create(subscription))
    expect(error).toMatchObject({ name: 'ClientError' })

    const told = [
      everythingOf(error),
      logger.text(),
      inspect(client, { showHidden: true, depth: Infinity }),
      JSON.stringify(client),
    ].join('\n')
    expect(HIDDEN.filter((each) => told.includes(each))).toEqual([])
    expect(logger.lines.length).toBeGreaterThan(0)
  })
})

it('a client that works has nothing to show for it', async () => {
  const logger = collectedLog()
  const service = await startService({ token: giveToken, api: echoing(200) })
  const client = clientOf(service, { logger })
  const running = client.subscriptions.create(subscription)
  const during = inspect(client, { showHidden: true, depth: Infinity, getters: true })
  await running
  await client.accounts.update('4711', { name: 'x' })
  const told = [
    during,
    inspect(client, { showHidden: true, depth: Infinity, getters: true }),
    JSON.stringify(client),
    logger.text(),
  ]
  expect(HIDDEN.filter((each) => told.join('\n').includes(each))).toEqual([])
})

it('a request is one line of the log, without its query, its body and its headers', async () => {
  const logger = collectedLog()
  const service = await startService({ token: giveToken })
  await clientOf(service, { logger, baseUrl: `${service.baseUrl}/bank` }).accounts.update('4711', {
    name: 'x',
  })
  expect(logger.lines).toEqual([
    {
      level: 'debug',
      fields: {
        method: 'POST',
        path: '/bank/security/v1/oauth2/token',
        attempt: 1,
        status: 200,
        durationMs: expect.any(Number),
      },
      message: 'the service answered',
    },
    {
      level: 'debug',
      fields: {
        method: 'PUT',
        path: '/bank/accounts/v1/4711',
        attempt: 1,
        status: 200,
        durationMs: expect.any(Number),
      },
      message: 'the service answered',
    },
  ])
})

it('an error says what went wrong below, all the same', async () => {
  const fetch = () => Promise.reject(new TypeError('agent.frobnicate is not a function'))
  const error = await rejection(clientOf(await startService(), { fetch }).accessToken())
  expect(error).toBeInstanceOf(ClientError)
  expect(error.message).toContain('agent.frobnicate is not a function')
  expect(error.cause).toMatchObject({ name: 'TypeError' })
  expect(error.cause.stack).toContain('secrecy.test')
})

it('a client secret in another case is a secret still', async () => {
  const fetch = () =>
    Promise.reject(new Error(`${CLIENT_SECRET.toUpperCase()} ${CLIENT_SECRET.toLowerCase()}`))
  const error = await rejection(clientOf(await startService(), { fetch }).accessToken())
  expect(error.cause.message).toBe('… …')
})

it('every token that was received is left out of an error, in every form', async () => {
  const tokens: string[] = []
  const spellings = (secret: string) => [
    secret,
    secret.toUpperCase(),
    encodeURIComponent(secret),
    JSON.stringify(JSON.stringify(secret)),
    Buffer.from(secret).toString('base64'),
    Buffer.from(`x:${secret}`).toString('base64url'),
    Buffer.from(secret).toString('hex'),
  ]
  const below = () => new Error(`cause ${[...tokens, CLIENT_SECRET].flatMap(spellings).join(' ')}`)
  const fetch: ClientOptions['fetch'] = (url) => {
    if (!url.endsWith('/token')) return Promise.reject(new TypeError(below().message, { cause: below() }))
    tokens.push(`token "${tokens.length}"~of/these+tests=`.replaceAll(' ', '_'))
    return Promise.resolve(Response.json(tokenBody(tokens.at(-1)!, 0)))
  }
  const logger = collectedLog()
  const client = clientOf(await startService(), { fetch, logger, maxAttempts: 1 })
  for (let call = 0; call < 3; call++) {
    const error = await rejection(client.accounts.update('4711', { name: 'x' }))
    const told = (everythingOf(error) + logger.text()).toLowerCase()
    for (const secret of [...tokens, CLIENT_SECRET].flatMap(spellings)) {
      expect(told).not.toContain(secret.toLowerCase())
    }
  }
  expect(tokens).toHaveLength(3)
})

it('a client secret of a few characters is left out of an error', async () => {
  const fetch = () => Promise.reject(new Error('it is Q7, q7 and xq7x'))
  const error = await rejection(clientOf(await startService(), { fetch, clientSecret: 'q7' }).accessToken())
  expect(error.cause.message).toBe('it is …, … and …')
})

it('an error of the system keeps its code', async () => {
  const server = createServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const error = await rejection(clientOf(await startService(), { baseUrl }).accessToken())
  server.close()
  expect(error.message).toMatch(/\((ECONNRESET|UND_ERR_SOCKET)\)/)
})
