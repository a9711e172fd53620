import { randomUUID } from 'node:crypto'
import type { OutcomeCode, OutcomeName } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import type { InboxState } from '../../src/inbox/states.js'
import type { RawResponse } from '../../src/testing/raw-request.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { withHeader } from '../support/http-bytes.js'
import { away, interposed, never } from '../support/interposed-inbox.js'
import type { InboxRunOptions, RunningInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { ago } from './answers.js'
import { REFUSED_CALLBACKS } from './refused-callbacks.js'

export type Run = (options?: InboxRunOptions) => Promise<RunningInboxReceiver>

interface Row {
  readonly arrives: string
  readonly code: OutcomeCode
  readonly outcome: OutcomeName
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Where every entry ends up, the oldest first. */
  readonly entries: readonly InboxState[]
  /** How many times a handler is called, for this callback and those before it. */
  readonly handled: number
  readonly deliver: (run: Run) => Promise<{ running: RunningInboxReceiver; response: RawResponse }>
}

const QUARANTINED = { status: 200, outcome: 'quarantined', entries: ['quarantined'], handled: 0 } as const
const QUARANTINED_TOO = { ...QUARANTINED, entries: ['handled', 'quarantined'], handled: 1 } as const
const STORED = { code: 'STORED', status: 200, outcome: 'stored' } as const
const REFUSED = { outcome: 'refused', entries: [], handled: 0 } as const
export const UNAVAILABLE = {
  outcome: 'unavailable',
  status: 503,
  headers: { 'retry-after': '10' },
  entries: [],
  handled: 0,
} as const
const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'

export const ROWS: readonly Row[] = [
  {
    ...STORED,
    arrives: 'a new genuine callback',
    entries: ['handled'],
    handled: 1,
    deliver: (run) => send(run, genuine()),
  },
  {
    arrives: 'a callback that was stored before',
    code: 'DUPLICATE',
    status: 200,
    outcome: 'duplicate',
    entries: ['handled'],
    handled: 1,
    deliver(run) {
      const callback = genuine()
      return send(run, callback, callback)
    },
  },
  {
    arrives: 'a callback that was stored before, signed anew',
    code: 'DUPLICATE',
    status: 200,
    outcome: 'duplicate',
    entries: ['handled'],
    handled: 1,
    deliver(run) {
      const callback = { idempotencyKey: KEY, payload: { Id: KEY } }
      return send(run, genuine(callback), genuine({ ...callback, timestamp: ago(60_000) }))
    },
  },
  {
    arrives: 'a callback whose twin is still being handled',
    code: 'DUPLICATE',
    status: 200,
    outcome: 'duplicate',
    entries: ['running'],
    handled: 1,
    async deliver(run) {
      const running = await run({ handler: untilAborted })
      const callback = genuine()
      expect(await running.send(callback)).toMatchObject({ status: 200 })
      await until(() => running.handled.length === 1)
      return { running, response: await running.send(callback) }
    },
  },
  {
    arrives: 'a callback whose twin is a dead letter',
    code: 'DUPLICATE',
    status: 200,
    outcome: 'duplicate',
    entries: ['dead'],
    handled: 1,
    async deliver(run) {
      const running = await run({ maxAttempts: 1, handler: () => Promise.reject(new Error('no')) })
      const callback = genuine()
      await running.send(callback)
      await running.becomes('1', 'dead')
      return { running, response: await running.send(callback) }
    },
  },
  {
    ...STORED,
    arrives: 'a callback whose handler throws',
    entries: ['retrying'],
    handled: 1,
    deliver: (run) => send(() => run({ handler: () => Promise.reject(new Error('no')) }), genuine()),
  },
  {
    ...STORED,
    arrives: 'a callback whose handler throws at the last attempt',
    entries: ['dead'],
    handled: 1,
    deliver: (run) =>
      send(() => run({ maxAttempts: 1, handler: () => Promise.reject(new Error('no')) }), genuine()),
  },
  {
    ...STORED,
    arrives: 'a callback whose handler takes too long',
    entries: ['retrying'],
    handled: 1,
    deliver: (run) => send(() => run({ handlerTimeoutMs: 5, handler: untilAborted }), genuine()),
  },
  {
    arrives: 'a callback that nothing handles',
    code: 'ERR_HANDLER_MISSING',
    status: 200,
    outcome: 'unhandled',
    entries: ['unhandled'],
    handled: 0,
    deliver(run) {
      const other = {
        ...subscription,
        eventTypeName: 'accounts.closed',
        secret: 'of-another~type.0123456789',
      }
      return send(() => run({ subscriptions: [subscription, other] }), genuine({ subscription: other }))
    },
  },
  {
    arrives: 'a callback at a receiver without handlers, which only stores',
    code: 'STORED',
    status: 200,
    outcome: 'stored',
    entries: ['stored'],
    handled: 0,
    deliver: (run) => send(() => run({ handler: null }), genuine()),
  },
  {
    ...QUARANTINED_TOO,
    arrives: 'a known key with another body',
    code: 'ERR_IDEMPOTENCY_KEY_REUSED',
    deliver: (run) => send(run, genuine({ idempotencyKey: KEY }), genuine({ idempotencyKey: KEY })),
  },
  {
    ...QUARANTINED_TOO,
    arrives: 'a captured delivery under another key',
    code: 'ERR_SIGNATURE_REPLAYED',
    deliver(run) {
      const callback = genuine()
      return send(run, callback, withHeader(callback.toHttp(), 'X-Idempotency-Key', randomUUID()))
    },
  },
  {
    ...QUARANTINED,
    arrives: 'a genuine callback under the name of another event type',
    code: 'ERR_EVENT_TYPE_MISMATCH',
    deliver: (run) => send(run, genuine({ eventType: 'accounts.closed' })),
  },
  {
    ...QUARANTINED,
    arrives: 'a callback signed longer ago than the tolerance',
    code: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE',
    deliver: (run) => send(run, genuine({ timestamp: ago(86_400_000 + 5_000) })),
  },
  {
    ...QUARANTINED,
    arrives: 'a callback signed further ahead than the tolerance',
    code: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE',
    deliver: (run) => send(run, genuine({ timestamp: ago(-300_000 - 60_000) })),
  },
  {
    ...QUARANTINED,
    arrives: 'a genuine callback whose body is not JSON',
    code: 'ERR_BODY_NOT_JSON',
    deliver: (run) => send(run, genuine({ body: 'Id=1' })),
  },
  {
    ...QUARANTINED,
    arrives: 'a genuine callback whose body is JSON, but no object',
    code: 'ERR_BODY_NOT_JSON',
    deliver: (run) => send(run, genuine({ body: '[{"Id": 1}]' })),
  },
  ...REFUSED_CALLBACKS.map(({ options, request, ...row }) => ({
    ...REFUSED,
    ...row,
    deliver: (run: Run) => send(() => run(options), request()),
  })),
  {
    ...UNAVAILABLE,
    arrives: 'a callback while the inbox cannot be written',
    code: 'ERR_INBOX_UNAVAILABLE',
    deliver: (run) => send(() => runWith(run, away), genuine()),
  },
  {
    ...UNAVAILABLE,
    arrives: 'a callback while the inbox does not answer',
    code: 'ERR_INBOX_UNAVAILABLE',
    deliver: (run) => send(() => runWith(run, never, { dependencyTimeoutMs: 20 }), genuine()),
  },
  {
    ...UNAVAILABLE,
    arrives: 'a callback while the inbox throws in place of rejecting',
    code: 'ERR_INBOX_UNAVAILABLE',
    deliver: (run) =>
      send(
        () =>
          runWith(run, () => {
            throw new Error('the disk is away')
          }),
        genuine(),
      ),
  },
  {
    ...UNAVAILABLE,
    arrives: 'a suspect callback while the inbox cannot be written',
    code: 'ERR_INBOX_UNAVAILABLE',
    deliver: (run) => send(() => runWith(run, away), genuine({ body: 'Id=1' })),
  },
  {
    ...UNAVAILABLE,
    arrives: 'a callback while the subscriptions cannot be looked up',
    code: 'ERR_SUBSCRIPTIONS_UNAVAILABLE',
    deliver: (run) => send(() => run({ subscriptions: () => Promise.reject(new Error('away')) }), genuine()),
  },
  {
    ...UNAVAILABLE,
    arrives: 'a callback while the receiver is stopping',
    code: 'ERR_SHUTTING_DOWN',
    headers: { ...UNAVAILABLE.headers, connection: 'close' },
    async deliver(run) {
      const running = await run()
      await running.receiver.stop()
      return { running, response: await running.send(genuine()) }
    },
  },
]

function untilAborted(_event: unknown, { signal }: { signal: AbortSignal }): Promise<void> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

async function runWith(
  run: Run,
  add: () => Promise<never>,
  options?: InboxRunOptions,
): Promise<RunningInboxReceiver> {
  const { inbox, set } = interposed(new MemoryInbox())
  set('add', add)
  return run({ inbox, ...options })
}

async function send(
  run: () => Promise<RunningInboxReceiver>,
  ...requests: readonly (SignedCallback | Uint8Array)[]
): Promise<{ running: RunningInboxReceiver; response: RawResponse }> {
  const running = await run()
  const [last, ...before] = requests.toReversed()
  for (const request of before.toReversed())
    expect(await running.send(request)).toMatchObject({ status: 200 })
  return { running, response: await running.send(last!) }
}
