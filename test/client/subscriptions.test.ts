import { createReceiver } from '../../src/index.js'
import { generateSecret } from '../../src/client/index.js'
import { callbackUrlProblem } from '../../src/signature/index.js'
import { collectedLog } from '../support/collected-log.js'
import { until } from '../support/until.js'
import { clientOf, json, rejection, startService } from './service.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const KEY = '3F2504E0-4f89-11d3-9a0c-0305e82c3301'
const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers?tenant=7',
  secret: 'geheim & größer',
  description: 'all transfers',
}

describe('subscriptions.create', () => {
  it('sends what SERVICE 4.2 shows, with the secret text as Base64', async () => {
    const service = await startService()
    const { idempotencyKey } = await clientOf(service).subscriptions.create(subscription)

    const { method, path, headers, body } = service.apiRequests[0]!
    expect({ method, path }).toEqual({ method: 'POST', path: '/webhooks/v1/' })
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      authorization: `Bearer ${service.tokens[0]}`,
      'x-idempotency-key': idempotencyKey,
    })
    expect(JSON.parse(body)).toEqual({
      eventTypeName: 'transfers.book-completed',
      callbackUrl: 'https://partner.example.com/hooks/transfers?tenant=7',
      secretText: Buffer.from('geheim & größer', 'utf8').toString('base64'),
      description: 'all transfers',
    })
  })

  it('sends no description where none is given', async () => {
    const service = await startService()
    await clientOf(service).subscriptions.create({ ...subscription, description: undefined })
    expect(Object.keys(JSON.parse(service.apiRequests[0]!.body))).toEqual([
      'eventTypeName',
      'callbackUrl',
      'secretText',
    ])
  })

  it('makes an idempotency key of its own for each call', async () => {
    const client = clientOf(await startService())
    const first = await client.subscriptions.create(subscription)
    const second = await client.subscriptions.create(subscription)
    expect(first.idempotencyKey).toMatch(UUID)
    expect(second.idempotencyKey).toMatch(UUID)
    expect(second.idempotencyKey).not.toBe(first.idempotencyKey)
  })

  it('sends the key that it is given, as it is', async () => {
    const service = await startService()
    const result = await clientOf(service).subscriptions.create(subscription, { idempotencyKey: KEY })
    expect(result.idempotencyKey).toBe(KEY)
    expect(service.apiRequests[0]!.headers['x-idempotency-key']).toBe(KEY)
  })

  it('tries again with the same key', async () => {
    const service = await startService({
      api(response, request, count) {
        if (count === 1) request.socket.destroy()
        else json(response, count === 2 ? 503 : 201, { count })
      },
    })
    const result = await clientOf(service).subscriptions.create(subscription)
    expect(result).toMatchObject({ status: 201, ok: true, body: { count: 3 } })
    const keys = service.apiRequests.map(({ headers }) => headers['x-idempotency-key'])
    expect(keys).toEqual(Array(3).fill(result.idempotencyKey))
  })

  it('keeps the key when it gives up, for whoever wants to try again', async () => {
    const service = await startService({ api: (_response, { socket }) => socket.destroy() })
    const error = await rejection(clientOf(service).subscriptions.create(subscription))
    expect(error.code).toBe('ERR_SERVICE_UNREACHABLE')
    expect(error.idempotencyKey).toBe(service.apiRequests[0]!.headers['x-idempotency-key'])
  })

  it('keeps the key when the client is closed under way', async () => {
    const service = await startService({ api: () => {} })
    const client = clientOf(service)
    const ended = rejection(client.subscriptions.create(subscription, { idempotencyKey: KEY }))
    await until(() => service.apiRequests.length === 1)
    await client.close()
    expect(await ended).toMatchObject({ code: 'ERR_CLOSED', idempotencyKey: KEY })
  })

  it('gives each its own key when one token is missing to both', async () => {
    const client = clientOf(await startService({ token: (response) => json(response, 400, {}) }))
    const errors = await Promise.all(
      [KEY, undefined].map((idempotencyKey) =>
        rejection(client.subscriptions.create(subscription, { idempotencyKey })),
      ),
    )
    expect(errors[0]).toMatchObject({ code: 'ERR_TOKEN_REFUSED', status: 400, idempotencyKey: KEY })
    expect(errors[1].idempotencyKey).toMatch(UUID)
  })

  it.each([
    ['/hooks'],
    ['https://Partner.example.com/'],
    ['https://partner.example.com:443/'],
    ['https://partner.example.com'],
    ['https://partner.example.com/#part'],
    ['https://user:word@partner.example.com/'],
    ['https://partner.example.com/?'],
    ['ftp://partner.example.com/'],
    [undefined],
  ])('refuses the callbackUrl %s in the words of the receiver, and sends nothing', async (callbackUrl) => {
    const service = await startService()
    const wrong = { ...subscription, callbackUrl: callbackUrl as string }
    const error = await rejection(clientOf(service).subscriptions.create(wrong))
    expect(error).toMatchObject({
      code: 'ERR_OPTION_INVALID',
      message: `subscriptions.create: ${callbackUrlProblem(callbackUrl)}`,
    })
    expect(service.tokenRequests).toEqual([])
    let refusal: Error | undefined
    try {
      createReceiver({ subscriptions: [wrong] })
    } catch (thrown) {
      refusal = thrown as Error
    }
    expect(refusal?.message).toBe(`createReceiver: subscriptions[0]: ${callbackUrlProblem(callbackUrl)}`)
  })

  it.each([
    ['no secret', { secret: undefined }, 'secret must be the secret text'],
    ['an empty secret', { secret: '' }, 'secret must not be empty'],
    ['a list of secrets', { secret: ['a', 'b'] }, 'secret must be the secret text'],
    ['half a surrogate pair', { secret: 'ab\ud800' }, 'well-formed'],
    ['no event type', { eventTypeName: '' }, 'eventTypeName'],
    ['an event type that is no text', { eventTypeName: 7 }, 'eventTypeName'],
    ['an event type with a line end', { eventTypeName: 'a\r\nX-Smuggled: 1' }, 'no HTTP header can carry'],
    ['an event type with a control character', { eventTypeName: 'a\u0000b' }, 'no HTTP header can carry'],
    ['an event type with DEL', { eventTypeName: 'a\u007f' }, 'no HTTP header can carry'],
    ['an event type beyond one byte a character', { eventTypeName: 'euro.€' }, 'no HTTP header can carry'],
    ['an event type that begins with a space', { eventTypeName: ' a' }, 'white space around it'],
    ['an event type that ends with a tab', { eventTypeName: 'a\t' }, 'white space around it'],
    ['an event type of nothing but a space', { eventTypeName: ' ' }, 'white space around it'],
    ['an event type without bound', { eventTypeName: 'a'.repeat(1_025) }, 'use at most 1024'],
    ['a description that is no text', { description: {} }, 'description'],
    ['the Base64 under its own name', { secretText: 'Z2VoZWlt' }, '"secretText"'],
  ])('refuses %s', async (_what, wrong, message) => {
    const service = await startService()
    const error = await rejection(
      clientOf(service).subscriptions.create({ ...subscription, ...wrong } as never),
    )
    expect(error.code).toMatch(/^ERR_OPTION_(INVALID|UNKNOWN)$/)
    expect(error.message).toContain('subscriptions.create')
    expect(error.message).toContain(message)
    expect(error.message).not.toContain('Z2VoZWlt')
    expect(service.tokenRequests).toEqual([])
  })

  it.each(['transfers.book-completed', 'a', 'a b\tc', 'überweisung', '!#$%&', 'a'.repeat(1_024)])(
    'takes the event type %j, which a header can carry',
    async (eventTypeName) => {
      const service = await startService()
      await clientOf(service).subscriptions.create({ ...subscription, eventTypeName })
      expect(JSON.parse(service.apiRequests[0]!.body)).toMatchObject({ eventTypeName })
    },
  )

  it.each([['key-1'], [''], [`${KEY}\n`], [7]])('refuses the idempotency key %j', async (idempotencyKey) => {
    const client = clientOf(await startService())
    const error = await rejection(
      client.subscriptions.create(subscription, { idempotencyKey: idempotencyKey as string }),
    )
    expect(error).toMatchObject({ code: 'ERR_OPTION_INVALID' })
    expect(error.message).toContain('idempotencyKey')
  })

  it('warns of a secret that looks like Base64 already', async () => {
    const logger = collectedLog()
    const secret = Buffer.from('a plain secret').toString('base64')
    await clientOf(await startService(), { logger }).subscriptions.create({ ...subscription, secret })
    expect(logger.withCode('WARN_SECRET_LOOKS_LIKE_BASE64')).toHaveLength(1)
    expect(logger.text()).not.toContain(secret)
  })

  it('warns of white space around a secret', async () => {
    const logger = collectedLog()
    await clientOf(await startService(), { logger }).subscriptions.create({
      ...subscription,
      secret: 'abc\n',
    })
    expect(logger.withCode('WARN_SECRET_ENCLOSED')).toHaveLength(1)
  })

  it('has nothing to say about a secret that was made for it', async () => {
    const logger = collectedLog()
    const secret = generateSecret()
    await clientOf(await startService(), { logger }).subscriptions.create({ ...subscription, secret })
    expect(logger.lines.filter(({ level }) => level === 'warn')).toEqual([])
  })
})

describe('generateSecret', () => {
  it('gives 256 bits that never come again', () => {
    const secrets = Array.from({ length: 100 }, generateSecret)
    expect(new Set(secrets).size).toBe(100)
    for (const secret of secrets) expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  })
})
