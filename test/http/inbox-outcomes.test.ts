import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { OUTCOMES } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import {
  loadRecordedRequests,
  recordedSubscriptions,
  type RecordedRequest,
} from '../../src/testing/recorded-requests.js'
import { fakeClock } from '../support/fake-clock.js'
import type { HostName } from '../support/hosts.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { expectFixedBody, tellingHeaders } from './answers.js'
import { ROWS, UNAVAILABLE, type Run } from './inbox-outcome-rows.js'

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
    // An unauthenticated sender must not learn whether a callback was stored or quarantined, or why it was refused.
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
      found.push({ name, status, outcome: running.outcomes.at(-1)!.name })
    }
    expect(found).toEqual(
      recorded.map(({ name, expect: { status, outcome } }) => {
        if (name === 'not-json') return { name, status: 200, outcome: 'quarantined' }
        return { name, status, outcome: outcome === 'handled' ? 'stored' : outcome }
      }),
    )
    const genuinely = recorded.filter(({ expect: { outcome } }) => outcome === 'handled').length
    await until(() => running.handled.length === genuinely)
    expect(await running.inbox.stats()).toMatchObject({ counts: { quarantined: 1 } })
    expect(await running.entries()).toHaveLength(genuinely + 1)
  })

  it('stores one of a hundred concurrent twins', async () => {
    const { send: deliver, entries, outcomes, handled, becomes } = await run()
    const callback = genuine()
    const responses = await Promise.all(Array.from({ length: 100 }, () => deliver(callback)))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    await becomes('1', 'handled')
    expect(await entries()).toMatchObject([{ copies: 99 }])
    expect(handled).toHaveLength(1)
    await until(() => outcomes.length === 100)
    expect(outcomes.filter(({ code }) => code === 'STORED')).toHaveLength(1)
    expect(outcomes.filter(({ code }) => code === 'DUPLICATE')).toHaveLength(99)
  })
})

it('keeps one entry of a captured delivery that is replayed a thousand times under fresh keys', async () => {
  const { receiver, entries, outcomes, handled, becomes } = await runInboxReceiver()
  const { path, headers, body } = genuine()
  const receive = (more: Record<string, string> = {}) =>
    receiver.receive({ method: 'POST', path, headers: { ...headers, ...more }, body })
  await receive()
  await becomes('1', 'handled')
  for (let batch = 0; batch < 10; batch++) {
    const replays = Array.from({ length: 100 }, () => receive({ 'X-Idempotency-Key': randomUUID() }))
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
  expect(outcomes).toHaveLength(1_001)
  expect(outcomes.filter(({ code }) => code === 'ERR_SIGNATURE_REPLAYED')).toHaveLength(1)
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
    expect(await inbox.stats()).toMatchObject({ counts: { stored: 0 } })
  })
})
