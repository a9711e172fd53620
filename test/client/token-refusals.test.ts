import { formatHttpDate } from '../../src/signature/timestamp.js'
import { fakeClock } from '../support/fake-clock.js'
import { freePort } from '../support/server-program.js'
import { CLIENT_SECRET, clientOf, json, rejection, startService, type Answer } from './service.js'

const answering =
  (body: unknown, status = 200): Answer =>
  (response) =>
    json(response, status, body)

describe('a token request that is refused', () => {
  it.each([400, 401, 403])('with %i walks the checklist of the service', async (status) => {
    const service = await startService({ token: answering({ error: 'invalid_client' }, status) })
    const error = await rejection(clientOf(service).accessToken())
    expect(error).toMatchObject({ name: 'ClientError', code: 'ERR_TOKEN_REFUSED', status })
    for (const each of [
      `its length, ${CLIENT_SECRET.length}`,
      'client_Id is a UUID: it is one',
      'only the service can know',
      'grant_type equals client_credentials: it was sent so',
      'Content-Type is application/x-www-form-urlencoded: it was sent so',
      'visible only once',
    ])
      expect(error.message).toContain(each)
    expect(service.tokenRequests).toHaveLength(1)
  })

  it.each([
    [302, 'a redirect, which is not followed'],
    [404, 'Is baseUrl right'],
    [429, 'Try again later'],
    [500, 'Try again later'],
  ])('with %i is no matter of the credentials', async (status, message) => {
    const other = await startService()
    const service = await startService({
      token: (response) => response.writeHead(status, { Location: `${other.baseUrl}/steal` }).end(),
    })
    const error = await rejection(clientOf(service).accessToken())
    expect(error).toMatchObject({ code: 'ERR_SERVICE_RESPONSE', status })
    expect(error.message).toContain(message)
    expect(other.apiRequests).toEqual([])
  })

  it.each([
    [429, '120', 120_000],
    [503, '31', 31_000],
    [400, '60', 60_000],
    [429, '9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ])('with %i keeps the Retry-After of %s', async (status, value, retryAfterMs) => {
    const service = await startService({
      token: (response) => json(response, status, {}, { 'Retry-After': value }),
    })
    const client = clientOf(service)
    expect(await rejection(client.accessToken())).toMatchObject({ status, retryAfterMs })
    const creation = client.subscriptions.create({
      eventTypeName: 'transfers.book-completed',
      callbackUrl: 'https://partner.example.com/',
      secret: 'geheim',
    })
    expect(await rejection(creation)).toMatchObject({ status, retryAfterMs, mayBeCreated: false })
    expect(service.tokenRequests).toHaveLength(2)
  })

  it('with a Retry-After as a date keeps it in milliseconds, and says it in seconds', async () => {
    const clock = fakeClock()
    const service = await startService({
      token: (response) =>
        json(
          response,
          429,
          {},
          {
            Date: formatHttpDate(new Date(clock())),
            'Retry-After': formatHttpDate(new Date(clock() + 90_000)),
          },
        ),
    })
    const error = await rejection(clientOf(service, { clock }).accessToken())
    expect(error.retryAfterMs).toBe(90_000)
    expect(error.message).toContain('Try again in 90 s')
  })

  it('without a Retry-After has none', async () => {
    const service = await startService({ token: (response) => json(response, 429, {}) })
    const error = await rejection(clientOf(service).accessToken())
    expect('retryAfterMs' in error).toBe(false)
    expect(service.tokenRequests).toHaveLength(3)
  })

  it('by nobody, as nobody is there, says so', async () => {
    const client = clientOf(await startService(), { baseUrl: `http://127.0.0.1:${await freePort()}` })
    const error = await rejection(client.accessToken())
    expect(error).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE' })
    expect(error.message).toContain('ECONNREFUSED')
  })
})
