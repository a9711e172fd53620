import { collectedLog } from '../support/collected-log.js'
import { until } from '../support/until.js'
import { clientOf, json, rejection, startService, type Service } from './service.js'

const REASON = new Error('not needed any more')
const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/',
  secret: 'geheim',
}

/** Where a call may stand, and how to know that it stands there. */
const PHASES: Record<
  string,
  () => Promise<{ service: Service; reached: () => boolean; retryDelayMs?: number }>
> = {
  async 'while the token is fetched'() {
    const service = await startService({ token: () => {} })
    return { service, reached: () => service.tokenRequests.length === 1 }
  },
  async 'in flight'() {
    const service = await startService({ api: () => {} })
    return { service, reached: () => service.apiRequests.length === 1 }
  },
  async 'while the body arrives'() {
    let begun = false
    const service = await startService({
      api: (response) => response.writeHead(200).write('{', () => (begun = true)),
    })
    return { service, reached: () => begun }
  },
  async 'while the token is renewed'() {
    const service = await startService({
      token: (response, _request, count) =>
        count === 1 && json(response, 200, { access_token: 't', token_type: 'Bearer', expires_in: 60 }),
      api: (response) => json(response, 401, {}),
    })
    return { service, reached: () => service.tokenRequests.length === 2 }
  },
}

async function inBackoff() {
  const logger = collectedLog()
  const service = await startService({ api: (response) => json(response, 503, {}) })
  const client = clientOf(service, { logger, retryDelayMs: 1_000_000 })
  const reached = () => logger.lines.some(({ fields }) => 'delayMs' in fields)
  return { service, client, reached }
}

describe.each(Object.keys(PHASES))('%s', (phase) => {
  it('a call that is aborted rejects with the reason', async () => {
    const { service, reached } = await PHASES[phase]!()
    const controller = new AbortController()
    const ended = rejection(
      clientOf(service, { maxAttempts: 1 }).subscriptions.create(subscription, { signal: controller.signal }),
    )
    await until(reached)
    controller.abort(REASON)
    expect(await ended).toBe(REASON)
  })

  it('the end of the client ends a call', async () => {
    const { service, reached } = await PHASES[phase]!()
    const client = clientOf(service, { maxAttempts: 1 })
    const ended = rejection(client.subscriptions.create(subscription))
    await until(reached)
    await client.close()
    expect(await ended).toMatchObject({ code: 'ERR_CLOSED' })
  })

  it('what is aborted lets go of its connection', async () => {
    const { service, reached } = await PHASES[phase]!()
    const controller = new AbortController()
    const ended = rejection(
      clientOf(service, { maxAttempts: 1 }).subscriptions.create(subscription, { signal: controller.signal }),
    )
    await until(reached)
    controller.abort()
    await ended
    const { socket } = [...service.tokenRequests, ...service.apiRequests].at(-1)!
    if (phase !== 'while the token is renewed') await until(() => socket.destroyed)
  })
})

describe('in the delay before the next attempt', () => {
  it('a call that is aborted rejects with the reason', async () => {
    const { client, reached } = await inBackoff()
    const controller = new AbortController()
    const ended = rejection(client.accounts.update('1', { name: 'x' }, { signal: controller.signal }))
    await until(reached)
    controller.abort(REASON)
    expect(await ended).toBe(REASON)
  })

  it('the end of the client ends a call', async () => {
    const { client, reached, service } = await inBackoff()
    const ended = rejection(client.accounts.update('1', { name: 'x' }))
    await until(reached)
    await client.close()
    expect(await ended).toMatchObject({ code: 'ERR_CLOSED' })
    expect(service.apiRequests).toHaveLength(1)
  })
})

describe('a call that was aborted beforehand', () => {
  it('rejects with the reason and sends nothing', async () => {
    const service = await startService()
    const client = clientOf(service)
    const signal = AbortSignal.abort(REASON)
    expect(await rejection(client.accessToken({ signal }))).toBe(REASON)
    expect(await rejection(client.subscriptions.create(subscription, { signal }))).toBe(REASON)
    expect(await rejection(client.accounts.update('1', { name: 'x' }, { signal }))).toBe(REASON)
    expect(service.tokenRequests).toEqual([])
  })
})

describe('a client that was closed', () => {
  it('refuses every call', async () => {
    const service = await startService()
    const client = clientOf(service)
    await client.accessToken()
    await client.close()
    for (const call of [
      () => client.accessToken(),
      () => client.subscriptions.create(subscription),
      () => client.accounts.update('1', { name: 'x' }),
    ])
      expect(await rejection(call())).toMatchObject({ code: 'ERR_CLOSED' })
    expect(service.apiRequests).toEqual([])
  })

  it('has no connections', async () => {
    const service = await startService()
    const client = clientOf(service)
    await client.accessToken()
    await client.close()
    await until(() => service.tokenRequests[0]!.socket.destroyed)
  })

  it('may be closed again, and one that was never used too', async () => {
    const client = clientOf(await startService())
    await Promise.all([client.close(), client.close()])
    await client.close()
  })
})

it('a signal that many calls share has one listener, and none when they have ended', async () => {
  const { signal } = new AbortController()
  let listening = 0
  let most = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    most = Math.max(most, ++listening)
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listening--
    remove(...args)
  }
  const client = clientOf(await startService())
  const update = (_: unknown, id: number) => client.accounts.update(`${id}`, { name: 'x' }, { signal })
  await Promise.all(Array.from({ length: 20 }, update))
  expect({ most, listening }).toEqual({ most: 1, listening: 0 })
})
