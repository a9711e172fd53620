import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { inspect } from 'node:util'
import { captureRawBody, createReceiver, verifySignature, type Middleware } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { collectedLog, type CollectedLog } from '../support/collected-log.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { withHeader } from '../support/http-bytes.js'
import { FORGED, genuine, runReceiver, subscription } from '../support/running-receiver.js'

// On a busy machine, what a test sends may take longer than the second for which lines are counted.
let pass: (ms: number) => Promise<void>
beforeEach(() => {
  pass = fakeTimeouts('Date')
  jest.spyOn(performance, 'now').mockReturnValue(performance.now())
})
afterEach(() => jest.restoreAllMocks())

const forged = () => withHeader(genuine().toHttp(), 'Authorization', FORGED)
const unsigned = () => withHeader(genuine().toHttp(), 'Authorization', 'none')

const suppressed = ({ lines }: CollectedLog) =>
  lines.filter(({ fields }) => fields['suppressed'] !== undefined)
const single = ({ lines }: CollectedLog) => lines.filter(({ fields }) => fields['suppressed'] === undefined)

describe('a flood of forged callbacks', () => {
  it('is ten lines a second for each code, and one with the number of the others', async () => {
    const { send, log, outcomes, receiver } = await runReceiver()
    for (let round = 0; round < 30; round++) {
      await send(forged())
      await send(unsigned())
    }
    await receiver.stop()
    expect(outcomes).toHaveLength(60)
    for (const code of ['ERR_SIGNATURE_MISMATCH', 'ERR_AUTHORIZATION_MALFORMED']) {
      const own = log.withCode(code)
      expect(own).toHaveLength(11)
      expect(own.every(({ level }) => level === 'warn')).toBe(true)
      const counted = own.reduce((sum, { fields }) => sum + (fields['suppressed'] ?? 1), 0)
      expect(counted).toBe(30)
    }
    expect(suppressed(log)[0]).toMatchObject({
      message: expect.stringMatching(/^\d+ more callbacks refused in \d+ ms: not logged one by one$/),
      fields: { outcome: 'refused', status: 401, verified: false, overMs: expect.any(Number) },
    })
  })

  it('is reported a second later while it goes on', async () => {
    const { send, log } = await runReceiver({ logRefusalsPerSecond: 0 })
    await send(forged())
    await pass(999)
    expect(log.lines).toEqual([])
    await pass(1)
    expect(log.lines).toMatchObject([{ fields: { code: 'ERR_SIGNATURE_MISMATCH', suppressed: 1 } }])
  })

  it('does not hide callbacks that were verified, which are all logged', async () => {
    const { send, log, receiver } = await runReceiver({ logRefusalsPerSecond: 1, toleranceMs: 30_000 })
    const tooOld = () => genuine({ timestamp: new Date(Date.now() - 60_000) })
    for (let round = 0; round < 20; round++) {
      await send(forged())
      await send(genuine())
      await send(tooOld())
    }
    await receiver.stop()
    expect(log.withCode('HANDLED')).toHaveLength(20)
    expect(log.withCode('ERR_TIMESTAMP_OUT_OF_TOLERANCE')).toHaveLength(20)
  })

  it('throttles the errors that it causes, and tells onError of each', async () => {
    const errors: unknown[] = []
    const subscriptions = () => Promise.reject(new Error('the database is away'))
    const { send, log, receiver } = await runReceiver({ subscriptions, logRefusalsPerSecond: 2 })
    receiver.onError((error) => errors.push(error))
    for (let round = 0; round < 20; round++) await send(forged())
    await receiver.stop()
    expect(errors).toHaveLength(20)
    expect(single(log)).toHaveLength(2)
    expect(single(log)[0]).toMatchObject({
      level: 'error',
      fields: { err: { message: 'the database is away' } },
    })
    expect(suppressed(log).at(-1)).toMatchObject({
      level: 'error',
      fields: { code: 'ERR_SUBSCRIPTIONS_UNAVAILABLE' },
    })
  })

  it('throttles the error of a misspelt callbackUrl that a function returned, and does not repeat its query', async () => {
    const misspelt = { ...subscription, callbackUrl: 'https://Partner.example.com/hooks?token=t0ken' }
    const { send, log, receiver } = await runReceiver({
      subscriptions: () => [misspelt],
      logRefusalsPerSecond: 2,
    })
    for (let round = 0; round < 20; round++) await send(forged())
    await receiver.stop()
    expect(single(log)).toHaveLength(2)
    expect(single(log)[0]).toMatchObject({
      fields: {
        code: 'ERR_SUBSCRIPTIONS_UNAVAILABLE',
        err: { code: 'ERR_OPTION_INVALID' },
      },
    })
    expect(suppressed(log)).toMatchObject([{ fields: { suppressed: 18 } }])
    expect(inspect(log.lines, { depth: Infinity })).not.toContain('t0ken')
  })

  it('throttles the errors of listeners that it causes', async () => {
    const { send, log, receiver } = await runReceiver()
    receiver.onOutcome(() => {
      throw new Error('mine')
    })
    for (let round = 0; round < 50; round++) await send(forged())
    await receiver.stop()
    const failed = log.withCode('ERR_LISTENER_FAILED')
    expect(failed).toHaveLength(11)
    expect(failed.reduce((sum, { fields }) => sum + (fields['suppressed'] ?? 1), 0)).toBe(50)
  })

  it.each([
    ['captureRawBody', (options: object) => captureRawBody(options)],
    ['verifySignature', (options: object) => verifySignature({ subscriptions: [subscription], ...options })],
  ] as [string, (options: object) => Middleware][])('is counted by %s as well', async (_name, make) => {
    const log = collectedLog()
    const middleware = make({ logger: log, logRefusalsPerSecond: 2 })
    const server = createServer((request, response) => middleware(request, response, () => response.end()))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      for (let round = 0; round < 10; round++) await sendRawRequest(unsigned(), { port })
      await pass(1_000)
      expect(suppressed(log)).toMatchObject([{ fields: { suppressed: 8 } }])
      expect(single(log)).toHaveLength(2)
    } finally {
      server.close()
    }
  })
})

it.each([-1, 1.5, '10', NaN])('logRefusalsPerSecond cannot be %p', (logRefusalsPerSecond) => {
  const options = { logRefusalsPerSecond } as never as { logRefusalsPerSecond: number }
  const message = /logRefusalsPerSecond is .*: use a whole number from 0/
  const expected = expect.objectContaining({
    code: 'ERR_OPTION_INVALID',
    message: expect.stringMatching(message),
  })
  const subscriptions = [subscription]
  expect(() => createReceiver({ subscriptions, ...options })).toThrow(expected)
  expect(() => verifySignature({ subscriptions, ...options })).toThrow(expected)
  expect(() => captureRawBody(options)).toThrow(expected)
})
