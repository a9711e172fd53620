import { requestAccessToken } from '../../src/client/access-token.js'
import { fakeClock } from '../support/fake-clock.js'
import { until } from '../support/until.js'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  clientOf,
  json,
  rejection,
  startService,
  tokenBody,
  type Answer,
} from './service.js'

const expiringIn =
  (expiresIn: unknown): Answer =>
  (response, _request, count) =>
    json(response, 200, { ...tokenBody(`token-${count}`), expires_in: expiresIn })

const answering =
  (body: unknown, status = 200): Answer =>
  (response) =>
    json(response, status, body)

describe('the request for a token', () => {
  it('is the one of SERVICE 4.1, to the letter', async () => {
    const service = await startService()
    await clientOf(service).accessToken()

    const [{ method, path, headers, body }] = service.tokenRequests as [never]
    expect({ method, path, body }).toEqual({
      method: 'POST',
      path: '/security/v1/oauth2/token',
      body: `grant_type=client_credentials&client_Id=${CLIENT_ID}&client_Secret=${CLIENT_SECRET}`,
    })
    expect(headers).toMatchObject({ 'content-type': 'application/x-www-form-urlencoded' })
    expect(headers).not.toHaveProperty('authorization')
  })

  it('reads as a form what was given, with every character that a secret may have', async () => {
    const service = await startService()
    const clientSecret = 'ABCxyz0189-_.~'
    await clientOf(service, { clientSecret }).accessToken()

    const form = new URLSearchParams(service.tokenRequests[0]!.body)
    expect([...form.keys()]).toEqual(['grant_type', 'client_Id', 'client_Secret'])
    expect(form.get('client_Secret')).toBe(clientSecret)
  })

  it('goes below the path of the base address', async () => {
    const service = await startService()
    await clientOf(service, { baseUrl: `${service.baseUrl}/bank/api/` }).accessToken()
    expect(service.tokenRequests[0]!.path).toBe('/bank/api/security/v1/oauth2/token')
  })

  it('is repeated when it was answered 5xx', async () => {
    const service = await startService({
      token: (response, _request, count) =>
        count < 3 ? json(response, 503, {}) : json(response, 200, tokenBody('third')),
    })
    expect(await clientOf(service).accessToken()).toBe('third')
  })

  it('gives everything that the service says of a token', async () => {
    const service = await startService({ token: expiringIn(120) })
    expect(await requestAccessToken({ baseUrl: service.baseUrl, ...service.credentials })).toMatchObject({
      accessToken: 'token-1',
      tokenType: 'Bearer',
      expiresIn: 120,
    })
  })
})

describe('a token', () => {
  it('is kept until shortly before the end of its life', async () => {
    const clock = fakeClock()
    const client = clientOf(await startService(), { clock })
    const first = await client.accessToken()
    clock.advance(3600_000 - 30_001)
    expect(await client.accessToken()).toBe(first)
    clock.advance(1)
    expect(await client.accessToken()).not.toBe(first)
  })

  it('that lives briefly is kept for most of that', async () => {
    const clock = fakeClock()
    const client = clientOf(await startService({ token: expiringIn(10) }), { clock })
    await client.accessToken()
    clock.advance(8_999)
    expect(await client.accessToken()).toBe('token-1')
    clock.advance(1)
    expect(await client.accessToken()).toBe('token-2')
  })

  it('has its lifetime counted from before it was asked for', async () => {
    const clock = fakeClock()
    const service = await startService({
      token(response, _request, count) {
        clock.advance(3_000)
        json(response, 200, tokenBody(`token-${count}`, 10))
      },
    })
    const client = clientOf(service, { clock })
    await client.accessToken()
    clock.advance(6_000)
    expect(await client.accessToken()).toBe('token-2')
  })

  it.each([
    ['as a text', '3600'],
    ['with a fraction', 3600.5],
    ['without end', 1e308],
  ])('is kept when its lifetime is given %s', async (_how, expiresIn) => {
    const client = clientOf(await startService({ token: expiringIn(expiresIn) }), { clock: fakeClock() })
    await client.accessToken()
    expect(await client.accessToken()).toBe('token-1')
  })

  it('is not kept for longer than a day, whatever the service says', async () => {
    const clock = fakeClock()
    const client = clientOf(await startService({ token: expiringIn(3.6e6) }), { clock })
    await client.accessToken()
    clock.advance(86_400_000)
    expect(await client.accessToken()).toBe('token-2')
  })

  it.each([
    ['zero', 0],
    ['negative', -1],
    ['missing', undefined],
    ['null', null],
    ['a word', 'soon'],
    ['a signed text', '-5'],
    ['an object', { seconds: 3600 }],
  ])('is used but not kept when its lifetime is %s', async (_what, expiresIn) => {
    const client = clientOf(await startService({ token: expiringIn(expiresIn) }))
    expect(await client.accessToken()).toBe('token-1')
    expect(await client.accessToken()).toBe('token-2')
  })

  it('is not kept longer because the clock was set back', async () => {
    const clock = fakeClock()
    const client = clientOf(await startService({ token: expiringIn(3600) }), { clock })
    await client.accessToken()
    clock.advance(-1)
    expect(await client.accessToken()).toBe('token-2')
  })

  it('may be of type "bearer" in any case', async () => {
    const service = await startService({ token: answering({ ...tokenBody('t'), token_type: 'BEARER' }) })
    expect(await clientOf(service).accessToken()).toBe('t')
  })

  it.each([
    ['of another type', { ...tokenBody('t'), token_type: 'mac' }, 'token_type is not Bearer'],
    ['of no type', { access_token: 't', expires_in: 60 }, 'token_type is not Bearer'],
    ['that is not a text', { ...tokenBody('t'), access_token: 7 }, 'access_token is not a text'],
    ['that is missing', { token_type: 'Bearer', expires_in: 60 }, 'access_token is not a text'],
    ['that is empty', tokenBody(''), 'access_token is empty'],
    ['that would add a header', tokenBody('t\r\nX-Admin: 1'), 'no place in a header'],
    ['with a space', tokenBody('a b'), 'no place in a header'],
    ['that is not ASCII', tokenBody('tokén'), 'no place in a header'],
    ['in a list', [tokenBody('t')], 'token_type is not Bearer'],
    ['as a bare text', 'token', 'not a JSON object'],
    ['null', null, 'not a JSON object'],
  ])('%s is refused', async (_what, body, message) => {
    const service = await startService({ token: answering(body) })
    const error = await rejection(clientOf(service).accessToken())
    expect(error).toMatchObject({ code: 'ERR_SERVICE_RESPONSE', status: 200 })
    expect(error.message).toContain(message)
  })

  it('is fetched once for 200 who ask at the same time', async () => {
    const service = await startService()
    const client = clientOf(service)
    const tokens = await Promise.all(Array.from({ length: 200 }, () => client.accessToken()))
    expect(new Set(tokens).size).toBe(1)
    expect(service.tokenRequests).toHaveLength(1)
  })

  it('that could not be fetched fails all who waited, and is fetched anew for the next', async () => {
    const service = await startService({
      token: (response, _request, count) =>
        count === 1 ? json(response, 400, {}) : json(response, 200, tokenBody('second')),
    })
    const client = clientOf(service)
    const failed = await Promise.allSettled([client.accessToken(), client.accessToken()])
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await client.accessToken()).toBe('second')
    expect(service.tokenRequests).toHaveLength(2)
  })

  it('is still fetched for the others when one of them gives up', async () => {
    let answer = () => {}
    const service = await startService({
      token: (response) => (answer = () => json(response, 200, tokenBody('patience'))),
    })
    const client = clientOf(service)
    const controller = new AbortController()
    const impatient = rejection(client.accessToken({ signal: controller.signal }))
    const patient = client.accessToken()
    await until(() => service.tokenRequests.length === 1)
    controller.abort(new Error('enough'))
    expect(await impatient).toMatchObject({ message: 'enough' })
    answer()
    expect(await patient).toBe('patience')
    expect(service.tokenRequests).toHaveLength(1)
  })

  it('is not waited for by the client when nobody does', async () => {
    const service = await startService({
      token: (response, _request, count) => count > 1 && json(response, 200, tokenBody('later')),
    })
    const client = clientOf(service)
    const controller = new AbortController()
    const waiting = [1, 2].map(() => rejection(client.accessToken({ signal: controller.signal })))
    await until(() => service.tokenRequests.length === 1)
    controller.abort()
    await Promise.all(waiting)
    await until(() => service.tokenRequests[0]!.socket.destroyed)
    expect(await client.accessToken()).toBe('later')
  })

  it('that comes after everybody has left is not kept', async () => {
    const answers: (() => void)[] = []
    const fetch = () =>
      new Promise<Response>((resolve) => {
        const body = tokenBody(`token-${answers.length + 1}`)
        answers.push(() => resolve(Response.json(body)))
      })
    const client = clientOf(await startService(), { fetch })
    const controller = new AbortController()
    const left = rejection(client.accessToken({ signal: controller.signal }))
    await until(() => answers.length === 1)
    controller.abort()
    await left
    const stayed = client.accessToken()
    await until(() => answers.length === 2)
    answers[1]!()
    expect(await stayed).toBe('token-2')
    answers[0]!()
    expect(await client.accessToken()).toBe('token-2')
  })
})
