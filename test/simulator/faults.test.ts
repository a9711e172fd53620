import { verifyCallback } from '../../src/signature/index.js'
import { faultOption, type Fault } from '../../src/simulator/fault.js'
import type { Delivery } from '../../src/simulator/delivery.js'
import { deferred } from '../support/deferred.js'
import { serve } from '../support/hosts.js'
import { runReceiver, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { runSimulator } from './running-simulator.js'
import { NEXT_SECRET, PREVIOUS_SECRET, simulatorFor } from './rotated-simulator.js'

describe('a fault', () => {
  interface Seen {
    readonly headers: Readonly<Record<string, string>>
    readonly body: Buffer
  }

  /** What arrives, byte for byte, at something that is no receiver. */
  async function seen(fault: Fault): Promise<{ delivery: Delivery; requests: Seen[] }> {
    const requests: Seen[] = []
    const port = await serve((request, response) => {
      const chunks: Buffer[] = []
      request.on('error', () => {})
      request
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', () => {
          requests.push({ headers: request.headers as Seen['headers'], body: Buffer.concat(chunks) })
          response.end()
        })
    })
    const simulator = await simulatorFor(port)
    const delivery = await simulator.deliver({ fault })
    return { delivery, requests }
  }

  const isSignedWith = (secret: string, { headers, body }: Seen) =>
    verifyCallback({
      callbackUrl: subscription.callbackUrl,
      secret,
      timestamp: headers['authorization-timestamp'],
      authorization: headers.authorization,
      body,
    }).valid
  const isGenuine = (request: Seen) => isSignedWith(subscription.secret, request)
  const ageMs = ({ headers }: Seen) => Date.now() - Date.parse(headers['authorization-timestamp']!)

  it('repeat sends the very same request, as often as it says', async () => {
    const { requests } = await seen({ kind: 'repeat', times: 3 })
    expect(requests).toHaveLength(3)
    expect(requests[1]).toEqual(requests[0])
    expect(requests[2]).toEqual(requests[0])
  })

  it('repeat-signed-anew has one key, one body and different signatures', async () => {
    const { requests } = await seen({ kind: 'repeat-signed-anew', times: 3 })
    const of = (name: string) => new Set(requests.map(({ headers }) => headers[name])).size
    expect([of('x-idempotency-key'), of('authorization'), of('authorization-timestamp')]).toEqual([1, 3, 3])
    expect(requests.every(isGenuine)).toBe(true)
  })

  it('twins are under way at the same time', async () => {
    const waiting: (() => void)[] = []
    const port = await serve((_request, response) => {
      waiting.push(() => response.end())
      if (waiting.length === 4) for (const answer of waiting) answer()
    })
    const simulator = await simulatorFor(port)
    const delivery = await simulator.deliver({ fault: { kind: 'twins', count: 4 } })
    expect(delivery.attempts.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })

  it('late is signed as long ago as it says, and rightly', async () => {
    const { requests } = await seen({ kind: 'late', byMs: 600_000 })
    expect(ageMs(requests[0]!)).toBeGreaterThanOrEqual(600_000)
    expect(isGenuine(requests[0]!)).toBe(true)
  })

  it('early is signed in the future, and rightly', async () => {
    const { requests } = await seen({ kind: 'early' })
    expect(ageMs(requests[0]!)).toBeLessThan(-3_000_000)
    expect(isGenuine(requests[0]!)).toBe(true)
  })

  it.each(['wrong-secret', 'unsigned', 'tampered', 'truncated'] as const)(
    '%s is not signed rightly',
    async (kind) => {
      const { delivery, requests } = await seen({ kind })
      expect(requests).toHaveLength(1)
      expect(isGenuine(requests[0]!)).toBe(false)
      expect(delivery.genuine).toBe(false)
    },
  )

  it('tampered keeps the length of the body, truncated half of its bytes', async () => {
    const tampered = await seen({ kind: 'tampered' })
    expect(tampered.requests[0]!.body).toHaveLength(tampered.delivery.body.length)
    expect(tampered.requests[0]!.body).not.toEqual(tampered.delivery.body)
    const { delivery, requests } = await seen({ kind: 'truncated' })
    expect(requests[0]!.body).toEqual(delivery.body.subarray(0, delivery.body.length >> 1))
  })

  it('previous-secret and next-secret sign with that secret', async () => {
    const previous = await seen({ kind: 'previous-secret' })
    expect(isSignedWith(PREVIOUS_SECRET, previous.requests[0]!)).toBe(true)
    const next = await seen({ kind: 'next-secret', secret: NEXT_SECRET })
    expect(isSignedWith(NEXT_SECRET, next.requests[0]!)).toBe(true)
  })

  it('rewritten-key sends one signature under two keys', async () => {
    const { delivery, requests } = await seen({ kind: 'rewritten-key' })
    const [first, second] = requests
    expect(second!.headers).toEqual({ ...first!.headers, 'x-idempotency-key': expect.any(String) })
    expect(second!.headers['x-idempotency-key']).not.toBe(first!.headers['x-idempotency-key'])
    expect(delivery.attempts.map(({ authenticity }) => authenticity)).toEqual(['genuine', 'suspect'])
  })

  it('rewritten-type changes the event type and leaves the signature right', async () => {
    const { delivery, requests } = await seen({ kind: 'rewritten-type', eventType: 'accounts.closed' })
    expect(requests[0]!.headers['x-event-type']).toBe('accounts.closed')
    expect(isGenuine(requests[0]!)).toBe(true)
    expect(delivery.attempts[0]).toMatchObject({ eventType: 'accounts.closed', authenticity: 'suspect' })
  })

  it('other-body and not-json are signed rightly', async () => {
    const { requests } = await seen({ kind: 'other-body' })
    expect(requests.map(isGenuine)).toEqual([true, true])
    expect(requests[0]!.headers['x-idempotency-key']).toBe(requests[1]!.headers['x-idempotency-key'])
    const notJson = await seen({ kind: 'not-json' })
    expect(isGenuine(notJson.requests[0]!)).toBe(true)
    expect(() => JSON.parse(notJson.requests[0]!.body.toString())).toThrow(SyntaxError)
  })

  it('oversize is chunked, genuine, and exactly as large as it says', async () => {
    const { requests } = await seen({ kind: 'oversize', bytes: 200_001 })
    expect(requests[0]!.headers).toMatchObject({ 'transfer-encoding': 'chunked' })
    expect(requests[0]!.body).toHaveLength(200_001)
    expect(isGenuine(requests[0]!)).toBe(true)
    expect(JSON.parse(requests[0]!.body.toString())).toHaveProperty('Id')
  })

  it('slow arrives in the end, whole and genuine', async () => {
    const { requests, delivery } = await seen({ kind: 'slow', overMs: 40 })
    expect(isGenuine(requests[0]!)).toBe(true)
    expect(delivery.attempts).toMatchObject([{ status: 200 }])
  })

  it.each([1, 2, 19, 20, 21, 45, 1_000])(
    'slow takes as long as it says with a body of %d bytes',
    async (bytes) => {
      const port = await serve((request, response) => {
        request.resume().on('end', () => response.end())
      })
      const simulator = await simulatorFor(port)
      const { attempts } = await simulator.deliver({
        body: '1'.repeat(bytes),
        fault: { kind: 'slow', overMs: 60 },
      })
      expect(attempts).toMatchObject([{ status: 200 }])
      expect(attempts[0]!.durationMs).toBeGreaterThanOrEqual(60)
    },
  )

  it('slow is answered 408 by a receiver whose bodyTimeoutMs is shorter', async () => {
    const { port, handled } = await runReceiver({ bodyTimeoutMs: 100 })
    const simulator = await simulatorFor(port)
    const { attempts } = await simulator.deliver({ fault: { kind: 'slow', overMs: 5_000 } })
    expect(attempts).toMatchObject([{ status: 408 }])
    expect(handled).toEqual([])
  })

  it('slow sends the head at once', async () => {
    const { promise: arrived, resolve } = deferred<void>()
    const port = await serve((request) => {
      resolve()
      request.on('error', () => {})
    })
    const simulator = await simulatorFor(port)
    const controller = new AbortController()
    const { signal } = controller
    const ended = simulator.deliver({ fault: { kind: 'slow', overMs: 600_000 }, signal })
    await arrived
    controller.abort(new Error('seen'))
    await expect(ended).rejects.toThrow('seen')
  })

  it('slow takes an answer that comes before the body has been sent', async () => {
    const port = await serve((_request, response) =>
      response.writeHead(408, { Connection: 'close' }).end('early'),
    )
    const simulator = await simulatorFor(port)
    const { attempts } = await simulator.deliver({ fault: { kind: 'slow', overMs: 600_000 } })
    expect(attempts).toMatchObject([{ status: 408, body: Buffer.from('early') }])
  })

  it('cut-before-answer sends everything and sees no answer', async () => {
    const { delivery, requests } = await seen({ kind: 'cut-before-answer' })
    await until(() => requests.length === 1)
    expect(isGenuine(requests[0]!)).toBe(true)
    expect(delivery.attempts).toMatchObject([{ status: undefined, error: 'CUT' }])
  })

  it('cut-in-body never completes the body', async () => {
    const { promise: closed, resolve } = deferred<boolean>()
    const port = await serve((request) => {
      request
        .on('error', () => {})
        .on('close', () => resolve(request.complete))
        .resume()
    })
    const simulator = await simulatorFor(port)
    const { attempts } = await simulator.deliver({ fault: 'cut-in-body' })
    expect(await closed).toBe(false)
    expect(attempts).toMatchObject([{ status: undefined, error: 'CUT' }])
  })

  it.each([
    ['no-such-fault', 'there is no fault "no-such-fault". Use one of repeat,'],
    ['toString', 'there is no fault "toString"'],
    ['wrong-secrets', 'Did you mean "wrong-secret"?'],
    [{ kind: 'repeat', times: 0 }, 'fault repeat: times is 0: use a whole number from 1'],
    [{ kind: 'twins', count: 1 }, 'fault twins: count is 1'],
    [{ kind: 'late', times: 2 }, 'fault late has no option "times"'],
    [{ kind: 'next-secret' }, 'fault next-secret: secret must be the secret text'],
    [null, 'there is no fault'],
  ])('is refused when it is wrong: %j', (fault, message) => {
    expect(() => faultOption(fault as unknown as Fault)).toThrow(message)
  })

  it('previous-secret needs a rotation first', async () => {
    const simulator = await runSimulator({ deliverTo: 'http://127.0.0.1:1' })
    simulator.subscribe(subscription)
    await expect(simulator.deliver({ fault: 'previous-secret' })).rejects.toThrow('call rotateSecret() first')
    expect(simulator.deliveries).toEqual([])
  })
})
