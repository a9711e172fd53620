import { randomUUID } from 'node:crypto'
import {
  OUTCOMES,
  RetryLaterError,
  type Handler,
  type IdempotencyStore,
  type OutcomeCode,
} from '../../src/index.js'
import type { RawResponse } from '../../src/testing/raw-request.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { deferred } from '../support/deferred.js'
import { HOST_NAMES } from '../support/hosts.js'
import { withHeader } from '../support/http-bytes.js'
import { genuine, runReceiver, type RunningReceiver, type RunOptions } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { ago, expectFixedBody, tellingHeaders } from './answers.js'
import { REFUSED_CALLBACKS } from './refused-callbacks.js'

type Run = (options?: RunOptions) => Promise<RunningReceiver>

interface Row {
  readonly arrives: string
  readonly code: OutcomeCode
  readonly status: number
  /** Those beside Content-Type and Content-Length, where one of them is meant to be there. */
  readonly headers?: Readonly<Record<string, string>>
  /** How many times the handler is started, for this callback and those before it. */
  readonly handled: number
  readonly deliver: (run: Run) => Promise<{ running: RunningReceiver; response: RawResponse }>
}

const UNAUTHORIZED = { status: 401, headers: { 'www-authenticate': 'HMAC-SHA256' }, handled: 0 }
const COME_BACK = { 'retry-after': '10' }
const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'

const untilAborted: Handler = (_event, { signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

const failingStore: IdempotencyStore = {
  retentionMs: Infinity,
  claim: () => Promise.reject(new Error('the database is away')),
}

const ROWS: readonly Row[] = [
  {
    arrives: 'a new genuine callback',
    code: 'HANDLED',
    status: 200,
    handled: 1,
    deliver: (run) => send(run, genuine()),
  },
  {
    arrives: 'a callback that was handled before',
    code: 'DUPLICATE',
    status: 200,
    handled: 1,
    deliver(run) {
      const callback = genuine()
      return send(run, callback, callback)
    },
  },
  {
    arrives: 'a callback that was handled before, signed anew',
    code: 'DUPLICATE',
    status: 200,
    handled: 1,
    deliver(run) {
      const callback = { idempotencyKey: KEY, payload: { Id: KEY } }
      return send(run, genuine(callback), genuine({ ...callback, timestamp: ago(60_000) }))
    },
  },
  {
    arrives: 'a callback whose twin is still being handled',
    code: 'ERR_CALLBACK_IN_PROGRESS',
    status: 409,
    headers: COME_BACK,
    handled: 1,
    async deliver(run) {
      const finish = deferred()
      const running = await run({ handler: () => finish.promise })
      const callback = genuine()
      const first = running.send(callback)
      await until(() => running.handled.length === 1)
      const response = await running.send(callback)
      finish.resolve()
      expect(await first).toMatchObject({ status: 200 })
      return { running, response }
    },
  },
  {
    arrives: 'a known key with another body',
    code: 'ERR_IDEMPOTENCY_KEY_REUSED',
    status: 409,
    handled: 1,
    deliver: (run) => send(run, genuine({ idempotencyKey: KEY }), genuine({ idempotencyKey: KEY })),
  },
  {
    arrives: 'a captured delivery under another key',
    code: 'ERR_SIGNATURE_REPLAYED',
    status: 409,
    handled: 1,
    deliver(run) {
      const callback = genuine()
      return send(run, callback, withHeader(callback.toHttp(), 'X-Idempotency-Key', randomUUID()))
    },
  },
  {
    arrives: 'a callback whose handler throws',
    code: 'ERR_HANDLER_FAILED',
    status: 500,
    handled: 1,
    deliver: (run) => send(() => run({ handler: () => Promise.reject(new Error('no')) }), genuine()),
  },
  {
    arrives: 'a callback whose handler cannot reach what it needs',
    code: 'ERR_RETRY_LATER',
    status: 503,
    headers: COME_BACK,
    handled: 1,
    deliver: (run) =>
      send(() => run({ handler: () => Promise.reject(new RetryLaterError('away')) }), genuine()),
  },
  {
    arrives: 'a callback whose handler says when what it needs is there again',
    code: 'ERR_RETRY_LATER',
    status: 503,
    headers: { 'retry-after': '121' },
    handled: 1,
    deliver(run) {
      const later = new RetryLaterError('away', { retryAfterMs: 120_001 })
      return send(() => run({ handler: () => Promise.reject(later) }), genuine())
    },
  },
  {
    arrives: 'a callback whose handler names a time that has passed',
    code: 'ERR_RETRY_LATER',
    status: 503,
    headers: { 'retry-after': '1' },
    handled: 1,
    deliver(run) {
      const later = new RetryLaterError('away', { retryAfterMs: new Date(0) })
      return send(() => run({ handler: () => Promise.reject(later) }), genuine())
    },
  },
  {
    arrives: 'a callback whose handler takes too long',
    code: 'ERR_HANDLER_TIMEOUT',
    status: 500,
    handled: 1,
    deliver: (run) => send(() => run({ handlerTimeoutMs: 20, handler: untilAborted }), genuine()),
  },
  {
    arrives: 'a callback that nothing handles',
    code: 'ERR_HANDLER_MISSING',
    status: 500,
    handled: 0,
    deliver: (run) => send(() => run({ handler: null }), genuine()),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a genuine callback under the name of another event type',
    code: 'ERR_EVENT_TYPE_MISMATCH',
    deliver: (run) => send(run, genuine({ eventType: 'accounts.closed' })),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback signed longer ago than the tolerance',
    code: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE',
    deliver: (run) => send(run, genuine({ timestamp: ago(86_400_000 + 5_000) })),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback signed further ahead than the tolerance',
    code: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE',
    deliver: (run) => send(run, genuine({ timestamp: ago(-300_000 - 60_000) })),
  },
  {
    arrives: 'a genuine callback whose body is not JSON',
    code: 'ERR_BODY_NOT_JSON',
    status: 400,
    handled: 0,
    deliver: (run) => send(run, genuine({ body: 'Id=1' })),
  },
  {
    arrives: 'a genuine callback whose body is JSON, but no object',
    code: 'ERR_BODY_NOT_JSON',
    status: 400,
    handled: 0,
    deliver: (run) => send(run, genuine({ body: '[{"Id": 1}]' })),
  },
  ...REFUSED_CALLBACKS.map(({ options, request, ...row }) => ({
    ...row,
    handled: 0,
    deliver: (run: Run) => send(() => run(options), request()),
  })),
  {
    arrives: 'a callback while the store is out of order',
    code: 'ERR_STORE_UNAVAILABLE',
    status: 503,
    headers: COME_BACK,
    handled: 0,
    deliver: (run) => send(() => run({ store: failingStore }), genuine()),
  },
  {
    arrives: 'a callback while the subscriptions cannot be looked up',
    code: 'ERR_SUBSCRIPTIONS_UNAVAILABLE',
    status: 503,
    headers: COME_BACK,
    handled: 0,
    deliver: (run) => send(() => run({ subscriptions: () => Promise.reject(new Error('away')) }), genuine()),
  },
  {
    arrives: 'a callback while the receiver is stopping',
    code: 'ERR_SHUTTING_DOWN',
    status: 503,
    headers: { ...COME_BACK, connection: 'close' },
    handled: 0,
    async deliver(run) {
      const running = await run()
      await running.receiver.stop()
      return { running, response: await running.send(genuine()) }
    },
  },
]

describe.each(HOST_NAMES)('in %s', (hostName) => {
  const run: Run = (options) => runReceiver({ in: hostName, ...options })

  it.each(ROWS)('$arrives: $status, $code', async ({ code, status, headers = {}, handled, deliver }) => {
    const { running, response } = await deliver(run)

    expect(response.status).toBe(status)
    expect(tellingHeaders(response)).toEqual(headers)
    expectFixedBody(response)
    expect(running.handled).toHaveLength(handled)
    const { name, reason } = OUTCOMES[code]
    expect(running.log.withCode(code)).toMatchObject([{ fields: { code, outcome: name, reason, status } }])
  })
})

async function send(
  run: () => Promise<RunningReceiver>,
  ...requests: readonly (SignedCallback | Uint8Array)[]
): Promise<{ running: RunningReceiver; response: RawResponse }> {
  const running = await run()
  const [last, ...before] = requests.toReversed()
  for (const request of before.toReversed())
    expect(await running.send(request)).toMatchObject({ status: 200 })
  return { running, response: await running.send(last!) }
}
