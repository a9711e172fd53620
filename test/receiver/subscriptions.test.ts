import { createReceiver, type Subscription, type SubscriptionHints } from '../../src/index.js'
import { collectedLog } from '../support/collected-log.js'
import { genuine, runReceiver, SECRET, subscription } from '../support/running-receiver.js'

function refusal(...subscriptions: unknown[]): { code: string; message: string } {
  try {
    createReceiver({ subscriptions: subscriptions as Subscription[] })
  } catch (error) {
    return error as { code: string; message: string }
  }
  throw new Error('nothing was refused')
}

describe('a subscription', () => {
  it.each([
    ['no secret', { secret: undefined }, /secret .* is undefined\. Is the environment variable set\?/],
    ['null for a secret', { secret: null }, /secret .* is null/],
    ['an empty secret', { secret: '' }, /secret must not be empty\. Is the environment variable set\?/],
    ['a secret as bytes', { secret: Buffer.from(SECRET) }, /secret .* string, but is object/],
    ['no secret in its list', { secret: [] }, /secret is a list: list at least one secret/],
    ['an empty secret in its list', { secret: [SECRET, ''] }, /secret must not be empty/],
    ['half a surrogate pair in its secret', { secret: 'x\ud800' }, /well-formed Unicode/],
    ['no event type', { eventTypeName: undefined }, /eventTypeName is undefined: use a name such as/],
    ['an empty event type', { eventTypeName: '' }, /: eventTypeName is "": use a name such as/],
    [
      'an event type with a space at its end',
      { eventTypeName: 'a.b ' },
      /leave out the white space around it/,
    ],
    ['an event type that no header can carry', { eventTypeName: 'a\nb' }, /no HTTP header can carry that/],
    ['a number for a description', { description: 1 }, /description is 1: use a text, or leave it out/],
    ['a relative URL', { callbackUrl: '/hooks' }, /callbackUrl .* "\/hooks" is not an absolute URL/],
    ['no URL', { callbackUrl: undefined }, /callbackUrl .* is undefined/],
    ['another scheme', { callbackUrl: 'ftp://partner.example.com/' }, /callbackUrl .* "ftp:"/],
  ])('with %s is refused, with the cure', (_what, wrong, message) => {
    const error = refusal(subscription, { ...subscription, ...wrong })
    expect(error.code).toBe('ERR_OPTION_INVALID')
    expect(error.message).toMatch(/^createReceiver: subscriptions\[1\]: /)
    expect(error.message).toMatch(message)
  })

  it.each([
    ['https://Partner.Example.com/hooks', 'https://partner.example.com/hooks'],
    ['https://partner.example.com', 'https://partner.example.com/'],
    ['https://partner.example.com:443/hooks', 'https://partner.example.com/hooks'],
    ['https://partner.example.com/a/../hooks', 'https://partner.example.com/hooks'],
    ['https://partner.example.com/hooks#top', 'https://partner.example.com/hooks'],
    ['https://partner.example.com/höoks', 'https://partner.example.com/h%C3%B6oks'],
  ])('whose URL %s would be respelled is refused, with the spelling to use', (callbackUrl, spelling) => {
    const { message } = refusal({ ...subscription, callbackUrl })
    expect(message).toContain(`callbackUrl "${callbackUrl}" must be spelled "${spelling}"`)
  })

  it('with an unknown field is refused by its name', () => {
    expect(refusal({ ...subscription, url: 'x' })).toMatchObject({
      code: 'ERR_OPTION_UNKNOWN',
      message: expect.stringMatching(/^createReceiver: subscriptions\[0\] has no option "url"/),
    })
  })

  it('is not changed by a later change of the object it was given as', async () => {
    const mine = { ...subscription, secret: [SECRET] }
    const { send } = await runReceiver({ subscriptions: [mine] })
    mine.secret[0] = 'another'
    mine.callbackUrl = 'https://evil.example/'
    expect(await send(genuine())).toMatchObject({ status: 200 })
  })

  it('with several secrets takes callbacks signed with any of them, and with no other', async () => {
    const secrets = ['the one', 'the next', 'the last']
    const { send } = await runReceiver({ subscriptions: [{ ...subscription, secret: secrets }] })
    for (const secret of secrets) {
      expect(await send(genuine({ subscription: { ...subscription, secret } }))).toMatchObject({
        status: 200,
      })
    }
    expect(await send(genuine())).toMatchObject({ status: 401 })
  })
})

describe('the start', () => {
  function warnings(...subscriptions: Subscription[]) {
    const log = collectedLog()
    createReceiver({ subscriptions, logger: log })
    expect(log.text()).not.toContain(SECRET)
    return log.lines.map(({ level, fields }) => `${level} ${fields['code']}`)
  }

  it('warns of a secret that looks like the Base64 of a text', () => {
    const secret = Buffer.from(SECRET).toString('base64')
    expect(warnings({ ...subscription, secret })).toEqual(['warn WARN_SECRET_LOOKS_LIKE_BASE64'])
    expect(warnings({ ...subscription, secret: [SECRET, secret] })).toHaveLength(1)
  })

  it('warns of white space around a secret', () => {
    expect(warnings({ ...subscription, secret: `${SECRET}\n` })).toEqual(['warn WARN_SECRET_ENCLOSED'])
  })

  it('warns of quotes around a secret', () => {
    for (const quote of ['"', "'", '`']) {
      expect(warnings({ ...subscription, secret: `${quote}${SECRET}${quote}` })).toEqual([
        'warn WARN_SECRET_ENCLOSED',
      ])
      expect(warnings({ ...subscription, secret: `${quote}${SECRET}` })).toEqual([])
    }
  })

  it('warns of event types that share a URL and a secret', () => {
    const other = { ...subscription, eventTypeName: 'accounts.closed' }
    expect(warnings(subscription, other)).toEqual(['warn WARN_SUBSCRIPTIONS_SHARE_SECRET'])
    expect(warnings(subscription, { ...other, secret: ['next', SECRET] })).toHaveLength(1)
  })

  it('has nothing to say of subscriptions that differ in URL or secret', () => {
    const other = { ...subscription, eventTypeName: 'accounts.closed' }
    expect(warnings(subscription, { ...other, secret: 'another~secret' })).toEqual([])
    expect(warnings(subscription, { ...other, callbackUrl: `${subscription.callbackUrl}/2` })).toEqual([])
  })

  it('does not log the query of a callback URL, where people put tokens', () => {
    const log = collectedLog()
    const callbackUrl = `${subscription.callbackUrl}?token=abc`
    createReceiver({ subscriptions: [{ ...subscription, callbackUrl, secret: ' x' }], logger: log })
    expect(log.lines).toHaveLength(1)
    expect(log.text()).not.toContain('token')
  })
})

describe('an event type', () => {
  const other = {
    eventTypeName: 'accounts.closed',
    callbackUrl: 'https://partner.example.com/hooks/accounts',
    secret: 'the secret of accounts',
  }

  it('of another subscription is never dispatched', async () => {
    const { receiver, send, outcomes, handled } = await runReceiver({ subscriptions: [subscription, other] })
    const closed = jest.fn()
    receiver.on(other.eventTypeName, closed)
    await send(genuine({ eventType: other.eventTypeName }))
    await send(genuine({ subscription: other, eventType: subscription.eventTypeName }))
    expect(outcomes.map(({ code }) => code)).toEqual(['ERR_EVENT_TYPE_MISMATCH', 'ERR_EVENT_TYPE_MISMATCH'])
    expect(handled).toEqual([])
    expect(closed).not.toHaveBeenCalled()
  })

  it('is compared to the letter', async () => {
    const { send } = await runReceiver()
    expect(await send(genuine({ eventType: 'Transfers.Book-Completed' }))).toMatchObject({ status: 401 })
  })

  it('picks the subscription where two share URL and secret', async () => {
    const twin = { ...subscription, eventTypeName: 'transfers.book-failed' }
    const { receiver, send, outcomes } = await runReceiver({ subscriptions: [subscription, twin] })
    receiver.onAny(() => {})
    await send(genuine())
    await send(genuine({ subscription: twin }))
    expect(outcomes.map(({ callback }) => callback?.subscription.eventTypeName)).toEqual([
      subscription.eventTypeName,
      twin.eventTypeName,
    ])
  })
})

describe('a subscriptions function', () => {
  it('is given what the sender claims as hints', async () => {
    const hints: SubscriptionHints[] = []
    const { send } = await runReceiver({
      async subscriptions(given) {
        hints.push(given)
        return [subscription]
      },
    })
    expect(await send(genuine().toHttp({ path: '/tenants/42?x=1' }))).toMatchObject({ status: 200 })
    expect(await send(genuine().toHttp({ path: 'http://a:80/tenants/42' }))).toMatchObject({ status: 200 })
    expect(await send(genuine({ headers: { 'X-Event-Type': null } }))).toMatchObject({ status: 400 })
    expect(hints).toEqual([
      { eventType: subscription.eventTypeName, path: '/tenants/42?x=1' },
      { eventType: subscription.eventTypeName, path: '/tenants/42' },
      { eventType: undefined, path: '/hooks/transfers' },
    ])
  })

  it('is not asked about a request that is refused by its head', async () => {
    const subscriptions = jest.fn()
    const { send } = await runReceiver({ subscriptions })
    await send(genuine({ headers: { Authorization: null } }))
    expect(subscriptions).not.toHaveBeenCalled()
  })

  it('may return its list at once', async () => {
    const { send } = await runReceiver({ subscriptions: () => [subscription] })
    expect(await send(genuine())).toMatchObject({ status: 200 })
  })

  it('that knows of nothing leaves a callback a 401', async () => {
    const { send, outcomes } = await runReceiver({ subscriptions: async () => [] })
    expect(await send(genuine())).toMatchObject({ status: 401 })
    expect(outcomes[0]?.code).toBe('ERR_SIGNATURE_MISMATCH')
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('the database is away'))],
    [
      'throws',
      () => {
        throw new Error('the database is away')
      },
    ],
    ['hangs', () => new Promise(() => {})],
    ['returns no list', async () => subscription],
    ['returns nothing', async () => undefined],
    ['returns null in its list', async () => [null]],
    ['returns a subscription without a secret', async () => [{ ...subscription, secret: undefined }]],
    ['returns a URL that would be respelled', async () => [{ ...subscription, callbackUrl: 'HTTPS://a/' }]],
    ['returns one good and one wrong', async () => [subscription, { ...subscription, secret: '' }]],
  ])('that %s makes the sender come back', async (_what, subscriptions) => {
    const { send, outcomes, handled, log } = await runReceiver({
      subscriptions: subscriptions as never,
      dependencyTimeoutMs: 20,
    })
    expect(await send(genuine())).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    expect(outcomes).toMatchObject([{ code: 'ERR_SUBSCRIPTIONS_UNAVAILABLE', error: expect.any(Error) }])
    expect(handled).toEqual([])
    expect(log.text()).not.toContain(SECRET)
  })
})
