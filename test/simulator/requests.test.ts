import { inspect } from 'node:util'
import fc from 'fast-check'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import type { ServiceSimulatorOptions } from '../../src/simulator/options.js'
import { collectedLog } from '../support/collected-log.js'
import { connection } from '../support/connection.js'
import { randomRuns } from '../support/random-runs.js'
import { until } from '../support/until.js'
import { runSimulator } from './running-simulator.js'
import { anyText } from '../support/any-text.js'
import { SECRET, SUBSCRIPTION, client } from './api-client.js'

function fail(): never {
  throw new Error('mine')
}

describe('any request', () => {
  it.each([
    ['GET', '/webhooks/v1/', 405],
    ['POST', '/accounts/v1/1', 405],
    ['POST', '/webhooks/v1', 404],
    ['GET', '/', 404],
    ['DELETE', '/webhooks/v1/1', 404],
  ])('%s %s is answered %s', async (method, path, status) => {
    const { simulator } = await client()
    expect((await fetch(simulator.baseUrl + path, { method })).status).toBe(status)
  })

  it('with a body that is too large is refused with 413, and the answer does arrive', async () => {
    const { simulator, subscribe } = await client()
    const { status } = await subscribe({ ...SUBSCRIPTION, description: 'x'.repeat(4_000_000) })
    expect(status).toBe(413)
    expect(simulator.subscriptions).toEqual([])
  })

  it('with whatever bytes is answered, and the simulator lives on', async () => {
    const { port, update } = await client()
    await fc.assert(
      fc.asyncProperty(anyText(), fc.uint8Array(), async (path, body) => {
        const target = `/accounts/v1/${path.replaceAll(/[^\x21-\x7e]/g, '%')}`
        const head = `PUT ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
        const { status } = await sendRawRequest(Buffer.concat([Buffer.from(head), body]), { port })
        expect([400, 401, 404, 405]).toContain(status)
      }),
      { numRuns: randomRuns(30) },
    )
    expect((await update({})).status).toBe(200)
  })

  it.each([
    'nonsense\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'POST /webhooks/v1/ HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
  ])('that is no HTTP is answered 400: %j', async (bytes) => {
    const { port } = await client()
    expect((await sendRawRequest(Buffer.from(bytes), { port })).status).toBe(400)
  })

  it('with JSON that is nested without end, or names a prototype, is refused', async () => {
    const { subscribe } = await client()
    for (const body of ['['.repeat(500_000), '{"a":'.repeat(200_000), '{"__proto__":{"eventTypeName":"x"}}'])
      expect((await subscribe(body)).status).toBe(400)
  })

  it('that ends half way harms nobody', async () => {
    const { port, update } = await client()
    const { socket } = await connection(port)
    await new Promise((resolve) =>
      socket.write('PUT /accounts/v1/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{', resolve),
    )
    socket.destroy()
    expect((await update({})).status).toBe(200)
  })

  it('can be answered by something else, or by nothing', async () => {
    let count = 0
    const { simulator, update } = await client({
      intercept: ({ endpoint }) => {
        if (endpoint !== 'account') return undefined
        count++
        if (count === 1) return { status: 429, headers: { 'Retry-After': '1' } }
        return count === 2 ? 'hang-up' : undefined
      },
    })
    const limited = await update({ name: 'x' })
    expect([limited.status, limited.headers.get('Retry-After')]).toEqual([429, '1'])
    await expect(update({ name: 'x' })).rejects.toThrow('fetch failed')
    expect(simulator.accounts.size).toBe(0)
    expect((await update({ name: 'x' })).status).toBe(200)
    expect(simulator.requests.map(({ status }) => status)).toEqual([200, 429, undefined, 200])
  })

  it.each<[string, ServiceSimulatorOptions]>([
    ['has no status', { accountResponse: () => ({}) as never }],
    ['throws', { accountResponse: () => fail() }],
    ['has a header that cannot be sent', { accountResponse: { status: 200, headers: { 'a\n': '' } } }],
    ['has a body that cannot be sent', { accountResponse: { status: 200, body: 1n } }],
  ])('is answered 500 when the response it was given %s', async (_, options) => {
    const { update } = await client(options)
    expect((await update({})).status).toBe(500)
  })

  it.each([
    () => fail(),
    () => Promise.reject(new Error('mine')),
    () => ({ status: 1 }),
    () => 'hangup' as never,
  ])('is answered 500 when intercept fails: %s', async (intercept) => {
    const { baseUrl } = await runSimulator({ intercept })
    expect((await fetch(baseUrl)).status).toBe(500)
  })

  it('is answered 500 when refusalResponse fails', async () => {
    const { baseUrl } = await runSimulator({ refusalResponse: () => fail() })
    expect((await fetch(baseUrl)).status).toBe(500)
  })
})

describe('what is recorded', () => {
  it('is every request, without secrets and tokens', async () => {
    const log = collectedLog()
    const { simulator, token, subscribe, update } = await client({ logger: log })
    await subscribe()
    await subscribe({ ...SUBSCRIPTION, secretText: undefined, secret_text: SECRET, nested: { SECRET } })
    await update({ name: 'Main', searchable: false }, `/accounts/v1/1?token=${token}`)
    expect(simulator.requests).toMatchObject([
      {
        method: 'POST',
        path: '/security/v1/oauth2/token',
        endpoint: 'token',
        fields: ['grant_type', 'client_Id', 'client_Secret'],
        values: { grant_type: 'client_credentials', client_Id: simulator.credentials.clientId },
        hasToken: false,
        status: 200,
      },
      { endpoint: 'subscription', status: 201, hasToken: true, refusal: undefined },
      { endpoint: 'subscription', status: 400, refusal: 'field' },
      { endpoint: 'account', path: '/accounts/v1/1', values: { name: 'Main', searchable: false } },
    ])
    for (const text of [JSON.stringify(simulator.requests), log.text()]) {
      for (const hidden of [token, simulator.credentials.clientSecret, SECRET, SUBSCRIPTION.secretText])
        expect(text).not.toContain(hidden)
    }
  })

  const MISPLACED = 'Mis-placed~Secret.0123'
  const JSON_TYPE = 'application/json'
  const FORM_TYPE = 'application/x-www-form-urlencoded'
  const asJson = JSON.stringify({ grant_type: 'client_credentials', client_Secret: MISPLACED })
  const asForm = `grant_type=client_credentials&client_Secret=${MISPLACED}`
  const multipart = `--b\r\nContent-Disposition: form-data; name="client_Secret"\r\n\r\n${MISPLACED}\r\n--b--\r\n`
  it.each([
    ['JSON under the type of a form', '/security/v1/oauth2/token', FORM_TYPE, asJson],
    ['JSON in brackets under the type of a form', '/security/v1/oauth2/token', FORM_TYPE, `[${asJson}]`],
    [
      'JSON in lines under the type of a form',
      '/security/v1/oauth2/token',
      FORM_TYPE,
      asJson.replaceAll(',', ',\n='),
    ],
    ['a form under the type of JSON', '/security/v1/oauth2/token', JSON_TYPE, asForm],
    ['JSON under its own type', '/security/v1/oauth2/token', JSON_TYPE, asJson],
    [
      'JSON with a secret as a name',
      '/security/v1/oauth2/token',
      JSON_TYPE,
      JSON.stringify({ [MISPLACED]: 1 }),
    ],
    [
      'JSON in JSON',
      '/security/v1/oauth2/token',
      JSON_TYPE,
      JSON.stringify({ name: asJson, description: MISPLACED }),
    ],
    ['a text in JSON', '/security/v1/oauth2/token', JSON_TYPE, JSON.stringify(MISPLACED)],
    ['the secret itself', '/security/v1/oauth2/token', FORM_TYPE, MISPLACED],
    ['the secret itself, encoded', '/security/v1/oauth2/token', FORM_TYPE, MISPLACED.replace('M', '%4d')],
    ['a question mark', '/security/v1/oauth2/token', FORM_TYPE, `?${asForm}`],
    ['another letter case', '/security/v1/oauth2/token', FORM_TYPE, `CLIENT_SECRET=${MISPLACED}`],
    ['an unknown name', '/security/v1/oauth2/token', FORM_TYPE, `pw=${MISPLACED}&${MISPLACED}=1`],
    ['another separator', '/security/v1/oauth2/token', FORM_TYPE, asForm.replace('&', ';')],
    ['multipart', '/security/v1/oauth2/token', 'multipart/form-data; boundary=b', multipart],
    ['multipart under the type of a form', '/security/v1/oauth2/token', FORM_TYPE, multipart],
    ['a text', '/security/v1/oauth2/token', 'text/plain', asForm],
    ['a query', `/security/v1/oauth2/token?${asForm}`, FORM_TYPE, ''],
    ['an encoded query', `/security/v1/oauth2/token%3F${asForm}`, FORM_TYPE, ''],
    ['parameters of a path', `/security/v1/oauth2/token;client_Secret=${MISPLACED}`, FORM_TYPE, ''],
    ['another endpoint', '/webhooks/v1/', FORM_TYPE, asJson],
    [
      'a description',
      '/webhooks/v1/',
      JSON_TYPE,
      JSON.stringify({ secretText: btoa(MISPLACED), description: MISPLACED }),
    ],
    [
      'a name in another form',
      '/webhooks/v1/',
      JSON_TYPE,
      JSON.stringify({ secret: MISPLACED, eventTypeName: `a-${MISPLACED.toUpperCase()}` }),
    ],
    [
      'a callback URL',
      '/webhooks/v1/',
      JSON_TYPE,
      JSON.stringify({ secret_text: MISPLACED, callbackUrl: `https://x/?s=${btoa(MISPLACED)}` }),
    ],
  ])('shows no secret of a request with %s', async (_what, path, type, body) => {
    const seen: unknown[] = []
    const log = collectedLog()
    const { simulator, call } = await client({
      logger: log,
      intercept: (request) => void seen.push(request),
    })
    const { status, text } = await call('POST', path, body, { 'Content-Type': type })
    expect(status).toBeGreaterThanOrEqual(400)
    const shown = decodeURIComponent(
      `${inspect([seen, simulator.requests], { depth: 9 })} ${log.text()} ${text}`,
    )
    expect(shown.toLowerCase()).not.toContain(MISPLACED.toLowerCase())
    expect(shown).not.toContain(btoa(MISPLACED))
  })

  it("shows the simulator's own secret and the token of the request nowhere", async () => {
    const { simulator, token, call } = await client()
    const { clientSecret } = simulator.credentials
    for (const hidden of [clientSecret, clientSecret.toUpperCase(), btoa(clientSecret), token]) {
      await call('PUT', `/accounts/v1/${encodeURIComponent(hidden)}`, { name: `it is ${hidden}` })
      await call(
        'POST',
        '/webhooks/v1/',
        { ...SUBSCRIPTION, description: hidden },
        {
          'Content-Type': `application/json; a=${hidden}`,
          'X-Idempotency-Key': hidden,
        },
      )
      const shown = decodeURIComponent(JSON.stringify(simulator.requests)).toLowerCase()
      expect(shown).not.toContain(hidden.toLowerCase())
    }
  })

  it('shows the names that are of the service, however they are spelled, and no others', async () => {
    const { simulator, call } = await client()
    await call('POST', '/webhooks/v1/', { event_type_name: 'x', callbackurl: 'y', SecretText: 'z', other: 1 })
    expect(simulator.requests.at(-1)!.fields).toEqual([
      'event_type_name',
      'callbackurl',
      'SecretText',
      '(another name)',
    ])
  })

  it('is bounded in what it keeps of one request', async () => {
    const { simulator, update } = await client()
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`f${index}`, index]))
    await update({ name: 'x'.repeat(5_000), ...many })
    expect(JSON.stringify(simulator.requests.at(-1)).length).toBeLessThan(1_000)
  })

  it('does not show a secret that was sent as the id', async () => {
    const { simulator } = await client()
    await fetch(`${simulator.baseUrl}/security/v1/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_Id: simulator.credentials.clientSecret, grant_type: 'secret?' }),
    })
    await until(() => simulator.requests.length === 2)
    expect(simulator.requests[1]!.values).toEqual({})
  })
})
