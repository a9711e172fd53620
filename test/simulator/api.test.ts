import { randomUUID } from 'node:crypto'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { SECRET, SUBSCRIPTION, client } from './api-client.js'

describe('creating a subscription', () => {
  it('stores it with its secret decoded', async () => {
    const { simulator, subscribe } = await client()
    const key = randomUUID()
    const { status, headers, text } = await subscribe(SUBSCRIPTION, { 'X-Idempotency-Key': key })
    expect({ status, text }).toEqual({ status: 201, text: '' })
    expect(headers.get('X-Not-Shown-By-The-Service')).toBe('status, body')
    const { secretText: _, ...rest } = SUBSCRIPTION
    expect(simulator.subscriptions).toEqual([{ ...rest, id: expect.any(String), secret: SECRET }])
    expect(simulator.subscriptions[0]!.idempotencyKey).toBe(key)
  })

  it('once for each idempotency key, whose repeat gets the same answer', async () => {
    let asked = 0
    const { simulator, subscribe } = await client({
      subscriptionResponse: ({ id }) => ({ status: 202, body: { id, asked: ++asked } }),
    })
    const key = randomUUID()
    const first = await subscribe(SUBSCRIPTION, { 'X-Idempotency-Key': key })
    const again = await subscribe(SUBSCRIPTION, { 'X-Idempotency-Key': key.toUpperCase() })
    expect(again).toMatchObject({ status: 202, text: first.text })
    expect(simulator.subscriptions).toHaveLength(1)
    await subscribe()
    expect(simulator.subscriptions).toHaveLength(2)
  })

  it('once for each idempotency key, also when repeats arrive together', async () => {
    const { simulator, subscribe } = await client()
    const key = { 'X-Idempotency-Key': randomUUID() }
    const answers = await Promise.all(Array.from({ length: 10 }, () => subscribe(SUBSCRIPTION, key)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201))
    expect(simulator.subscriptions).toHaveLength(1)
  })

  it('is refused where the key belongs to another body', async () => {
    const { simulator, subscribe } = await client()
    const key = { 'X-Idempotency-Key': randomUUID() }
    await subscribe(SUBSCRIPTION, key)
    const { status, text } = await subscribe({ ...SUBSCRIPTION, description: 'other' }, key)
    expect({ status, text }).toEqual({ status: 409, text: expect.stringContaining('idempotency-key-reused') })
    expect(simulator.subscriptions).toHaveLength(1)
  })

  it('replaces one of the same event type and URL where that is asked for', async () => {
    const { simulator, subscribe } = await client({ repeatedSubscription: 'replace' })
    await subscribe()
    await subscribe({ ...SUBSCRIPTION, eventTypeName: 'accounts.closed' })
    await subscribe({ ...SUBSCRIPTION, secretText: Buffer.from('new').toString('base64') })
    expect(simulator.subscriptions.map(({ secret }) => secret)).toEqual([SECRET, 'new'])
  })

  it('needs a token', async () => {
    const { simulator, subscribe } = await client()
    expect((await subscribe(SUBSCRIPTION, { Authorization: 'Bearer other' })).status).toBe(401)
    expect(simulator.subscriptions).toEqual([])
  })

  it.each([
    ['idempotency-key', SUBSCRIPTION, { 'X-Idempotency-Key': 'no-uuid' }],
    ['idempotency-key', SUBSCRIPTION, { 'X-Idempotency-Key': '' }],
    ['content-type', SUBSCRIPTION, { 'Content-Type': 'text/plain' }],
    ['body', 'no JSON', {}],
    ['body', '', {}],
    ['body', '[]', {}],
    ['body', 'null', {}],
    ['body', Buffer.from([0x7b, 0xff, 0x7d]), {}],
    ['field', {}, {}],
    ['field', { ...SUBSCRIPTION, eventTypeName: undefined }, {}],
    ['field', { ...SUBSCRIPTION, eventTypeName: '' }, {}],
    ['field', { ...SUBSCRIPTION, eventTypeName: 1 }, {}],
    ['field', { ...SUBSCRIPTION, eventTypeName: 'a\r\nX-Smuggled: 1' }, {}],
    ['field', { ...SUBSCRIPTION, eventTypeName: '€' }, {}],
    ['field', { ...SUBSCRIPTION, eventTypeName: ' a' }, {}],
    ['field', { ...SUBSCRIPTION, eventTypeName: 'a\t' }, {}],
    ['field', { ...SUBSCRIPTION, eventTypeName: 'a'.repeat(2_000) }, {}],
    ['field', { ...SUBSCRIPTION, eventtypename: 'a', eventTypeName: undefined }, {}],
    ['field', { ...SUBSCRIPTION, callbackUrl: ' https://x/' }, {}],
    ['field', { ...SUBSCRIPTION, callbackUrl: 'https://x/\n' }, {}],
    ['field', { ...SUBSCRIPTION, callbackUrl: '/hooks' }, {}],
    ['field', { ...SUBSCRIPTION, callbackUrl: 'ftp://x/' }, {}],
    ['field', { ...SUBSCRIPTION, callbackUrl: ['https://x/'] }, {}],
    ['field', { ...SUBSCRIPTION, secretText: '' }, {}],
    ['field', { ...SUBSCRIPTION, secretText: undefined, secret: SECRET }, {}],
    // The text itself, URL-safe letters, missing padding, and Base64 of what is no UTF-8.
    ['field', { ...SUBSCRIPTION, secretText: SECRET }, {}],
    ['field', { ...SUBSCRIPTION, secretText: 'c2Vj_mV0' }, {}],
    ['field', { ...SUBSCRIPTION, secretText: 'c2VjcmV0cw' }, {}],
    ['field', { ...SUBSCRIPTION, secretText: Buffer.from([0xff, 0xfe]).toString('base64') }, {}],
    ['field', { ...SUBSCRIPTION, description: 1 }, {}],
  ])('is refused with 400 for its %s: %j %j', async (reason, body, headers) => {
    const { simulator, subscribe } = await client()
    const { status, text } = await subscribe(body, headers)
    expect({ status, text: JSON.parse(text) }).toEqual({
      status: 400,
      text: { reason, message: expect.any(String) },
    })
    expect(text).not.toContain(SECRET)
    expect(simulator.subscriptions).toEqual([])
  })

  it('takes a description that is missing or empty, and ignores unknown fields', async () => {
    const { simulator, subscribe } = await client()
    await subscribe({ ...SUBSCRIPTION, description: undefined, other: {} })
    await subscribe({ ...SUBSCRIPTION, description: '' })
    expect(simulator.subscriptions.map(({ description }) => description)).toEqual([undefined, ''])
  })

  it('wakes whoever waits for it', async () => {
    const { simulator, subscribe } = await client()
    const first = simulator.subscribed()
    const second = simulator.subscribed({ count: 2 })
    await subscribe()
    expect((await first).secret).toBe(SECRET)
    simulator.subscribe({ eventTypeName: 'x', callbackUrl: 'http://127.0.0.1/', secret: 'two' })
    expect((await second).secret).toBe('two')
  })
})

describe('updating an account', () => {
  it('keeps what it is given', async () => {
    const { simulator, update } = await client()
    const { status, headers, text } = await update({ name: 'Main', searchable: true })
    expect({ status, text }).toEqual({ status: 200, text: '' })
    expect(headers.get('X-Not-Shown-By-The-Service')).toBe('status, body')
    expect([...simulator.accounts.values()]).toEqual([{ accountId: 'a1', name: 'Main', searchable: true }])
  })

  it('takes the id from the path, decoded', async () => {
    const { simulator, update } = await client()
    await update({}, '/accounts/v1/a%2Fb%20%C3%BC%3Fx')
    expect([...simulator.accounts.keys()]).toEqual(['a/b ü?x'])
  })

  it.each([
    ['kept', 200, { accountId: 'a1', name: 'Main', searchable: false }],
    ['cleared', 200, { accountId: 'a1', searchable: false }],
    ['refused', 400, { accountId: 'a1', name: 'Main', searchable: true }],
  ] as const)(
    'leaves a field that is not named %s where that is asked for',
    async (missing, status, account) => {
      const { simulator, update } = await client({ missingAccountField: missing })
      await update({ name: 'Main', searchable: true })
      expect((await update({ searchable: false })).status).toBe(status)
      expect(simulator.accounts.get('a1')).toEqual(account)
    },
  )

  it.each([{ name: 1 }, { name: null }, { searchable: 'true' }, [], 'text'])(
    'is refused with 400: %j',
    async (body) => {
      const { simulator, update } = await client()
      expect((await update(JSON.stringify(body))).status).toBe(400)
      expect(simulator.accounts.size).toBe(0)
    },
  )

  it.each([
    '/accounts/v1/',
    '/accounts/v1/%ff',
    '/accounts/v1/a/b',
    '/accounts/v1',
    '/accounts/v1/a?b',
    '/accounts/v1/a?',
    '/accounts/v1/?a',
    '/accounts/v1/a/',
    '/accounts/v1//a',
    '/accounts/v1/.',
    '/accounts/v1/..',
    '/accounts/v1/%2e',
    '/accounts/v1/%2E%2e',
    '/accounts/v1/a%',
    '/accounts/v1/a#b',
    '/accounts/v1/a"b',
    '/accounts/v1/[a]',
    '/accounts/v1/{a}',
    '/accounts/v1/a\\b',
    '/Accounts/v1/a',
    '//accounts/v1/a',
    '/accounts/v1/../v1/a',
    '/accounts%2Fv1/a',
    '/accounts/v1/\xe4',
  ])('is not found at %s', async (path) => {
    const { simulator, token, port } = await client()
    const head = `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`
    const request = Buffer.from(`${head}Content-Length: 12\r\n\r\n{"name":"x"}`, 'latin1')
    // 400 is Node's own, for what is no request target at all.
    expect([400, 404]).toContain((await sendRawRequest(request, { port })).status)
    expect(simulator.accounts.size).toBe(0)
  })

  it('is found at no address with a query, nor is a subscription', async () => {
    const { simulator, call } = await client()
    const { status, text } = await call('POST', '/webhooks/v1/?x', SUBSCRIPTION, {
      'X-Idempotency-Key': randomUUID(),
    })
    expect({ status, text }).toEqual({ status: 404, text: expect.stringContaining('must have no query') })
    expect(simulator.subscriptions).toEqual([])
  })

  it('is answered as accountResponse says', async () => {
    const { update } = await client({ accountResponse: { status: 202, body: 'as text' } })
    expect(await update({})).toMatchObject({ status: 202, text: 'as text' })
  })
})
