import { createServer } from 'node:net'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { freePort } from '../support/server-program.js'
import { until } from '../support/until.js'
import { clientOf, json, rejection, startService, tokenBody, type Answer } from './service.js'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/',
  secret: 'geheim',
}

/** What happens to each attempt: a status, or the connection ends after the request has been read. */
type Attempts = readonly (number | 'lost')[]

const answering =
  (attempts: Attempts): Answer =>
  (response, { socket }, count) => {
    const answer = attempts[count - 1] ?? attempts.at(-1)!
    if (answer === 'lost') socket.destroy()
    else json(response, answer, {})
  }

/** The result or the error of a creation. */
async function outcome(attempts: Attempts, options = {}) {
  const service = await startService({ api: answering(attempts) })
  const creation = clientOf(service, options).subscriptions.create(subscription)
  return { service, result: await creation.catch((error: unknown) => error as any) }
}

describe('a subscription may have been created', () => {
  it.each<[Attempts, number]>([
    ...[400, 401, 403, 404, 409, 422, 429].map((status): [Attempts, number] => [['lost', status], status]),
    ...[500, 502, 503, 504].map((status): [Attempts, number] => [[status, 400], 400]),
    [['lost', 'lost', 400], 400],
    [[429, 'lost', 400], 400],
    [['lost', 429, 429], 429],
    [[503], 503],
    [[302], 302],
    [[303], 303],
    [[408], 408],
    [[409], 409],
    [[201], 201],
  ])('after %j', async (attempts, status) => {
    const { result } = await outcome(attempts)
    expect(result).toMatchObject({ status, mayBeCreated: true })
  })

  it('after a lost answer, where the repeats do not reach the service', async () => {
    const { result } = await outcome(['lost'])
    expect(result).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE', mayBeCreated: true })
  })

  it('after a timeout and a refusal', async () => {
    const service = await startService({
      api: (response, _request, count) => count > 1 && json(response, 400, {}),
    })
    const pass = fakeTimeouts()
    const creation = clientOf(service, { timeoutMs: 50 }).subscriptions.create(subscription)
    await until(() => service.apiRequests.length === 1)
    await pass(50)
    expect(await creation).toMatchObject({ status: 400, mayBeCreated: true })
  })

  it('after a lost answer, where no token can be had for the repeat', async () => {
    const service = await startService({
      token: (response, _request, count) =>
        count === 1 ? json(response, 200, tokenBody('first', 0)) : json(response, 400, {}),
      api: answering(['lost']),
    })
    const error = await rejection(clientOf(service).subscriptions.create(subscription))
    expect(error).toMatchObject({ code: 'ERR_TOKEN_REFUSED', mayBeCreated: true })
  })

  it('after a lost answer, a refused token and a refusal with the next one', async () => {
    const { result, service } = await outcome(['lost', 401, 400])
    expect(result).toMatchObject({ status: 400, mayBeCreated: true })
    expect(service.tokens).toHaveLength(2)
  })

  it('where an answer is too large to be read', async () => {
    const service = await startService({
      api: (response) => response.writeHead(201).end('x'.repeat(2 ** 21)),
    })
    const error = await rejection(clientOf(service).subscriptions.create(subscription))
    expect(error).toMatchObject({ code: 'ERR_SERVICE_RESPONSE', mayBeCreated: true })
  })

  it('where the client is closed while the answer is waited for', async () => {
    const service = await startService({ api: () => {} })
    const client = clientOf(service)
    const ended = rejection(client.subscriptions.create(subscription))
    await until(() => service.apiRequests.length === 1)
    await client.close()
    expect(await ended).toMatchObject({ code: 'ERR_CLOSED', mayBeCreated: true })
  })

  it('where the client is closed in the delay after a lost answer', async () => {
    const service = await startService({ api: answering(['lost']) })
    const client = clientOf(service, { retryDelayMs: 1_000_000 })
    const ended = rejection(client.subscriptions.create(subscription))
    await until(() => service.apiRequests.length === 1 && service.apiRequests[0]!.socket.destroyed)
    await client.close()
    expect(await ended).toMatchObject({ mayBeCreated: true })
  })

  it('where a fetch of somebody else fails after it was called', async () => {
    const service = await startService()
    const failing = (url: string, init: RequestInit) =>
      url.endsWith('/token') ? fetch(url, init) : Promise.reject(new Error('reset'))
    const error = await rejection(clientOf(service, { fetch: failing }).subscriptions.create(subscription))
    expect(error).toMatchObject({ mayBeCreated: true })
  })
})

describe('a subscription cannot have been created', () => {
  it.each<[Attempts]>([
    [[400]],
    [[403]],
    [[404]],
    [[422]],
    [[429, 400]],
    [[429, 429, 429]],
    [[401, 400]],
    [[401, 401]],
  ])('after %j', async (attempts) => {
    const { result } = await outcome(attempts)
    expect(result).toMatchObject({ status: attempts.at(-1), mayBeCreated: false })
  })

  it.each([
    ['undici', undefined],
    ["Node's fetch", fetch as never],
  ])('where nobody listens, by %s', async (_whose, own) => {
    const tokens = await startService()
    const port = await freePort()
    const fetchElsewhere: any = (url: string, init: RequestInit) => {
      const isToken = url.endsWith('/token')
      return fetch(isToken ? url : url.replace(/:\d+/, `:${port}`), init)
    }
    const client = own
      ? clientOf(tokens, { fetch: fetchElsewhere })
      : clientOf({ ...tokens, baseUrl: `http://127.0.0.1:${port}` })
    const error = await rejection(client.subscriptions.create(subscription))
    expect(error).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE', mayBeCreated: false })
    expect(tokens.apiRequests).toEqual([])
  })

  it('where the service is gone once there is a token', async () => {
    let gone = () => {}
    const service = await startService({
      token(response, { socket }) {
        socket.once('close', () => gone())
        json(response, 200, tokenBody('t'), { Connection: 'close' })
      },
    })
    const port = await freePort()
    const closed = new Promise<void>((resolve) => (gone = resolve))
    // The first connection leads to the service, and every other one to nobody.
    const relay = createServer((socket) => {
      relay.close()
      void import('node:net').then(({ connect }) =>
        socket.pipe(connect(Number(new URL(service.baseUrl).port), '127.0.0.1')).pipe(socket),
      )
    }).listen(port, '127.0.0.1')
    const error = await rejection(
      clientOf({ ...service, baseUrl: `http://127.0.0.1:${port}` }).subscriptions.create(subscription),
    )
    await closed
    expect(error).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE', mayBeCreated: false })
    expect(service.tokenRequests).toHaveLength(1)
    expect(service.apiRequests).toEqual([])
  })

  it('where no token can be had', async () => {
    const service = await startService({ token: (response) => json(response, 400, {}) })
    const error = await rejection(clientOf(service).subscriptions.create(subscription))
    expect(error).toMatchObject({ code: 'ERR_TOKEN_REFUSED', mayBeCreated: false })
  })

  it('where the client is closed before there is a token', async () => {
    const service = await startService({ token: () => {} })
    const client = clientOf(service)
    const ended = rejection(client.subscriptions.create(subscription))
    await until(() => service.tokenRequests.length === 1)
    await client.close()
    expect(await ended).toMatchObject({ code: 'ERR_CLOSED', mayBeCreated: false })
  })
})
