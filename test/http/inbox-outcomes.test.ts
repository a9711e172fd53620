import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { OUTCOMES, type OutcomeCode, type OutcomeName } from '../../src/index.js'
import { MemoryInbox } from '../../src/inbox/memory-inbox.js'
import type { InboxState } from '../../src/inbox/states.js'
import type { RawResponse } from '../../src/testing/raw-request.js'
import {
  loadRecordedRequests,
  recordedSubscriptions,
  type RecordedRequest,
} from '../../src/testing/recorded-requests.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { fakeClock } from '../support/fake-clock.js'
import type { HostName } from '../support/hosts.js'
import { withHeader } from '../support/http-bytes.js'
import { away, interposed, never } from '../support/interposed-inbox.js'
import {
  runInboxReceiver,
  type InboxRunOptions,
  type RunningInboxReceiver,
} from '../support/running-inbox-receiver.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { ago, expectFixedBody, tellingHeaders } from './answers.js'
import { REFUSED_CALLBACKS } from './refused-callbacks.js'

type Run = (options?: InboxRunOptions) => Promise<RunningInboxReceiver>

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
const UNAVAILABLE = {
  outcome: 'unavailable',
  status: 503,
  headers: { 'retry-after': '10' },
  entries: [],
  handled: 0,
} as const
const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'

const ROWS: readonly Row[] = [
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

let recorded: RecordedRequest[]
beforeAll(async () => {
  recorded = await loadRecordedRequests(join(__dirname, '../../fixtures/recorded'))
})

describe.each<HostName>(['Express 5', 'the standalone server'])('with an inbox, in %s', (hostName) => {
  const run: Run = (options) => runInboxReceiver({ in: hostName, ...options })

  it.each(ROWS)('$arrives: $status, $outcome', async (row) => {
    const { code, outcome, status, headers = {} } = row
    const { running, response } = await row.deliver(run)

    expect(response.status).toBe(status)
    expect(tellingHeaders(response)).toEqual(headers)
    expectFixedBody(response)
    const { reason } = OUTCOMES[code]
    expect(running.log.withCode(code)).toMatchObject([{ fields: { code, outcome, reason, status } }])
    for (const [index, state] of row.entries.entries()) await running.becomes(String(index + 1), state)
    expect(await running.entries()).toHaveLength(row.entries.length)
    expect(running.handled).toHaveLength(row.handled)
  })

  it('stores what was signed, and says in quarantine why it is there', async () => {
    const { send: deliver, entries, handled } = await run()
    const callback = genuine({ body: '{"Id": 1}  ', eventType: 'accounts.closed' })
    await deliver(callback)
    expect(await entries()).toMatchObject([
      {
        state: 'quarantined',
        reason: 'ERR_EVENT_TYPE_MISMATCH',
        eventType: 'accounts.closed',
        idempotencyKey: callback.headers['X-Idempotency-Key'],
        rawBody: callback.body,
      },
    ])
    expect(handled).toEqual([])
  })

  it('makes of each recorded request what its description says', async () => {
    const clock = fakeClock(new Date('2026-11-03T09:20:00Z'))
    const subscriptions = recordedSubscriptions(recorded)
    const running = await run({ subscriptions, clock, inbox: new MemoryInbox({ clock }) })
    const found = []
    for (const { name, bytes } of recorded) {
      const { status } = await running.send(bytes)
      await until(() => running.outcomes.length === found.length + 1)
      found.push({ name, status, outcome: running.outcomes.at(-1)!.outcome })
    }
    expect(found).toEqual(
      recorded.map(({ name, expect: { status, outcome } }) => {
        if (name === 'not-json') return { name, status: 200, outcome: 'quarantined' }
        return { name, status, outcome: outcome === 'handled' ? 'stored' : outcome }
      }),
    )
    const genuinely = recorded.filter(({ expect: { outcome } }) => outcome === 'handled').length
    await until(() => running.handled.length === genuinely)
    expect(await running.inbox.stats()).toMatchObject({ quarantined: 1 })
    expect(await running.entries()).toHaveLength(genuinely + 1)
  })

  it('stores one of hundreds of concurrent twins', async () => {
    const { send: deliver, entries, outcomes, handled, becomes } = await run()
    const callback = genuine()
    const responses = await Promise.all(Array.from({ length: 300 }, () => deliver(callback)))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    await becomes('1', 'handled')
    expect(await entries()).toMatchObject([{ copies: 299 }])
    expect(handled).toHaveLength(1)
    await until(() => outcomes.length === 300)
    expect(outcomes.filter(({ code }) => code === 'STORED')).toHaveLength(1)
    expect(outcomes.filter(({ code }) => code === 'DUPLICATE')).toHaveLength(299)
  })

  it('keeps one entry of a captured delivery that is replayed a thousand times under fresh keys', async () => {
    const { send: deliver, entries, outcomes, handled, becomes } = await run()
    const captured = genuine()
    await deliver(captured)
    await becomes('1', 'handled')
    const replay = () => withHeader(captured.toHttp(), 'X-Idempotency-Key', randomUUID())
    for (let batch = 0; batch < 10; batch++) {
      const replays = Array.from({ length: 100 }, () => deliver(replay()))
      for (const { status } of await Promise.all(replays)) expect(status).toBe(200)
    }
    expect(await entries()).toMatchObject([
      { state: 'handled', copies: 0 },
      {
        state: 'quarantined',
        copies: 999,
        reason: expect.stringMatching(/its signature is that of entry 1/),
      },
    ])
    expect(handled).toHaveLength(1)
    await until(() => outcomes.length === 1_001)
    expect(outcomes.filter(({ code }) => code === 'ERR_SIGNATURE_REPLAYED')).toHaveLength(1)
  })
})

describe('a receiver that was not started', () => {
  it('answers 503 and says in the log what was forgotten', async () => {
    const { send: deliver, log, entries, inbox } = await runInboxReceiver({ in: 'Express 5', start: false })
    const response = await deliver(genuine())
    expect(response.status).toBe(503)
    expect(tellingHeaders(response)).toEqual(UNAVAILABLE.headers)
    expect(log.withCode('ERR_INBOX_UNAVAILABLE')).toMatchObject([
      { fields: { err: { message: expect.stringMatching(/await receiver\.start\(\)/) } } },
    ])
    expect(await entries()).toEqual([])
    expect(await inbox.stats()).toMatchObject({ stored: 0 })
  })
})

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

// An unauthenticated sender must not learn whether a callback was stored or quarantined, or why it was refused.
