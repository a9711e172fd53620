import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Gauge, Registry } from 'prom-client'
import { outcome } from '../../src/callback/outcomes.js'
import { EventChannel } from '../../src/events/event-channel.js'
import { answeredEvent } from '../../src/events/publish-answer.js'
import { ArrivedRequest } from '../../src/http/arrived-request.js'
import { createReceiver, createWorker, DoNotRetryError } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { prometheusMetrics } from '../../src/prometheus.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock } from '../support/fake-clock.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { itWhere } from '../support/it-where.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { FORGED, genuine, runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { findProgram } from '../support/server-program.js'
import { inboxFile } from '../support/sqlite-file.js'
import { samplesOf } from './samples.js'

const TYPE = `event_type="${subscription.eventTypeName}"`
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const promtool = findProgram('promtool')

async function observed(options: Parameters<typeof runInboxReceiver>[0] = {}) {
  const metrics = prometheusMetrics()
  const running = await runInboxReceiver(options)
  const end = metrics.observe(running.receiver)
  return { ...running, metrics, end, samples: async () => samplesOf(await metrics.text()) }
}

describe('prometheusMetrics', () => {
  it('writes into a registry of prom-client what text() writes', async () => {
    const register = new Registry()
    const metrics = prometheusMetrics({ register })
    const { receiver, send, handled } = await runReceiver()
    metrics.observe(receiver)
    await send(genuine())
    expect(handled).toHaveLength(1)
    const steady = (text: string) => text.split('\n').filter((line) => line && !/event_loop/.test(line))
    expect(steady(await register.metrics())).toEqual(steady(await metrics.text()))
    register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never)
    expect(await register.metrics()).toContain('\ncountersign_callbacks_total{outcome="handled"')
  })

  it.each([
    ['was called with the registry before', (register: Registry) => void prometheusMetrics({ register })],
    [
      'has a metric of the application with one of the names',
      (register: Registry) =>
        void new Gauge({ name: 'countersign_inbox_entries', help: 'mine', registers: [register] }),
    ],
  ])('refuses a registry that %s, with what to do, and changes nothing in it', (_, before) => {
    const register = new Registry()
    before(register)
    const names = register.getMetricsAsArray().map(({ name }) => name)
    expect(() => prometheusMetrics({ register })).toThrow(
      expect.objectContaining({
        code: 'ERR_OPTION_INVALID',
        option: 'register',
        message: expect.stringMatching(
          / register is a registry with the metric countersign_\w+ already: .*observe\(\)/,
        ),
      }),
    )
    expect(register.getMetricsAsArray().map(({ name }) => name)).toEqual(names)
  })

  it('counts answers, attempts and what was signed', async () => {
    const { send, metrics, samples, entries } = await observed({
      handler: ({ payload }) => {
        if (payload.Id === 'dead') throw new DoNotRetryError('no such account')
      },
    })
    const body = genuine()
    await send(body)
    await send(body)
    await send(genuine({ payload: { Id: 'dead' } }))
    await send(genuine({ headers: { Authorization: FORGED } }))
    let found = await samples()
    const isOver = () =>
      found.get(`countersign_attempts_total{result="dead",${TYPE},code="ERR_HANDLER_FAILED"}`) === 1 &&
      found.get(`countersign_attempts_total{result="handled",${TYPE}}`) === 1
    while (!isOver()) found = await samples()
    expect(await entries()).toHaveLength(2)
    const counted = Object.fromEntries(
      [...found].filter(([name]) => name.startsWith('countersign_callbacks_total')),
    )
    expect(counted).toEqual({
      [`countersign_callbacks_total{outcome="stored",code="STORED",${TYPE}}`]: 2,
      [`countersign_callbacks_total{outcome="duplicate",code="DUPLICATE",${TYPE}}`]: 1,
      'countersign_callbacks_total{outcome="refused",code="ERR_SIGNATURE_MISMATCH"}': 1,
    })
    expect(found.get(`countersign_signed_to_handled_seconds_count{${TYPE}}`)).toBe(1)
    expect(found.get('countersign_answer_duration_seconds_bucket{outcome="stored",le="+Inf"}')).toBe(2)
    expect(found.get('countersign_callback_body_bytes_sum')).toBeGreaterThan(2 * body.body.length)
    expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/)
  })

  it('has the fingerprint of the secret that verified, and nothing of the secret', async () => {
    const now = Date.now()
    const { send, samples, metrics, outcomes } = await observed({ clock: fakeClock(now) })
    await send(genuine())
    const fingerprint = outcomes[0]!.callback!.secretFingerprint
    const name = `countersign_secret_last_verified_timestamp_seconds{secret="${fingerprint}",${TYPE}}`
    expect((await samples()).get(name)).toBe(now / 1000)
    expect(await metrics.text()).not.toContain(SECRET)
  })

  it('has the times of the thousand secrets that were used last', async () => {
    const events = new EventChannel(() => {})
    const metrics = prometheusMetrics()
    metrics.observe({ events })
    const { callback } = arrival()
    const request = new ArrivedRequest('POST', '/', {})
    const verify = (secretFingerprint: string) => {
      const stored = outcome('STORED', { ...callback, secretFingerprint })
      events.publish('answered', answeredEvent({ request, outcome: stored, durationMs: 1 }))
    }
    for (let count = 0; count < 1_000; count++) verify(`${count}`)
    verify('0')
    verify('1000')
    const times = [...samplesOf(await metrics.text()).keys()].flatMap(
      (name) => /^countersign_secret_last_verified_timestamp_seconds{secret="(\d+)"/.exec(name)?.[1] ?? [],
    )
    expect(times.sort((one, other) => Number(one) - Number(other))).toEqual([
      '0',
      ...Array.from({ length: 999 }, (_, index) => `${index + 2}`),
    ])
  })

  it('estimates the clock skew from verified callbacks only', async () => {
    const now = Date.now()
    const { send, samples } = await observed({ clock: fakeClock(now + 60_000) })
    const timestamp = new Date(now - 7_200_000)
    await send(genuine({ timestamp, headers: { Authorization: FORGED } }))
    expect((await samples()).has('countersign_clock_skew_seconds')).toBe(false)
    await send(genuine({ timestamp: new Date(now) }))
    await send(genuine({ timestamp }))
    const skew = (await samples()).get('countersign_clock_skew_seconds')
    expect(skew).toBeGreaterThan(59)
    expect(skew).toBeLessThan(63)
  })

  it('has no negative time from the signature where the clock of the service is ahead', async () => {
    const { send, becomes, receiver, samples } = await observed()
    await send(genuine({ timestamp: new Date(Date.now() + 120_000) }))
    await becomes('1', 'handled')
    await receiver.idle()
    const found = await samples()
    expect(found.get(`countersign_signed_to_handled_seconds_sum{${TYPE}}`)).toBe(0)
    expect(found.get(`countersign_signed_to_handled_seconds_count{${TYPE}}`)).toBe(1)
  })

  it('has no series for what 1,000 unauthenticated requests claim', async () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: silent })
    const metrics = prometheusMetrics()
    metrics.observe(receiver)
    const forge = async () => {
      const { method, path, headers, body } = signedCallback({
        subscription: { ...subscription, secret: 'another secret text' },
      })
      const claimed = { ...headers, 'X-Event-Type': `forged.${randomUUID()}` }
      await receiver.receive({ method, path, headers: claimed, body })
    }
    await forge()
    const before = samplesOf(await metrics.text())
    for (let sent = 0; sent < 1_000; sent++) await forge()
    const after = samplesOf(await metrics.text())
    expect([...after.keys()]).toEqual([...before.keys()])
    expect(after.get('countersign_callbacks_total{outcome="refused",code="ERR_SIGNATURE_MISMATCH"}')).toBe(
      1_001,
    )
    await receiver.stop()
  })

  it('has no series for the event type of a captured callback, which is not signed', async () => {
    const { send, metrics } = await observed()
    await send(genuine({ headers: { 'X-Event-Type': 'rewritten.type' } }))
    const text = await metrics.text()
    expect(text).toContain(`{outcome="quarantined",code="ERR_EVENT_TYPE_MISMATCH",${TYPE}} 1`)
    expect(text).not.toContain('rewritten')
  })

  it('counts event types above maxEventTypes as other', async () => {
    const metrics = prometheusMetrics({ maxEventTypes: 2 })
    const receiver = createReceiver({
      subscriptions: ({ eventType }) => [{ ...subscription, eventTypeName: eventType! }],
      logger: silent,
    })
    receiver.onAny(() => {})
    metrics.observe(receiver)
    for (const eventTypeName of ['a', 'b', 'c', 'd', 'a']) {
      const { method, path, headers, body } = signedCallback({
        subscription: { ...subscription, eventTypeName },
      })
      await receiver.receive({ method, path, headers, body })
    }
    const found = samplesOf(await metrics.text())
    const handled = (type: string) =>
      found.get(`countersign_callbacks_total{outcome="handled",code="HANDLED",event_type="${type}"}`)
    expect(['a', 'b', 'c', 'other'].map(handled)).toEqual([2, 1, undefined, 2])
    await receiver.stop()
  })

  it('reads the inbox when it is scraped, at most once in five seconds', async () => {
    const inbox = new MemoryInbox()
    const stats = jest.spyOn(inbox, 'stats')
    const { metrics, samples } = await observed({ inbox })
    expect(stats).not.toHaveBeenCalled()
    await Promise.all([metrics.text(), metrics.text()])
    await metrics.text()
    expect(stats).toHaveBeenCalledTimes(1)
    const found = await samples()
    expect(found.get('countersign_inbox_entries{inbox="default",state="stored"}')).toBe(0)
    expect(found.get('countersign_inbox_oldest_unfinished_age_seconds{inbox="default"}')).toBe(0)
  })

  it('has the dead rows of PostgreSQL, and for how long a snapshot has kept them', async () => {
    const now = Date.now()
    const inbox = new MemoryInbox()
    const oldestSnapshot = { holder: 'session "7 report"', since: new Date(now - 90_000) }
    const { counts } = await inbox.stats()
    jest.spyOn(inbox, 'stats').mockResolvedValue({ counts, deadRows: 12, oldestSnapshot })
    const { samples } = await observed({ inbox })
    const found = await samples()
    expect(found.get('countersign_inbox_dead_rows{inbox="default"}')).toBe(12)
    const age = found.get('countersign_inbox_oldest_snapshot_age_seconds{inbox="default"}')
    expect(age).toBeGreaterThanOrEqual(90)
    expect(age).toBeLessThan(120)
  })

  it('has the ages of what waits', async () => {
    const inbox = new MemoryInbox()
    const { send, becomes, samples } = await observed({
      inbox,
      clock: fakeClock(Date.now() - 60_000),
      handler: () => Promise.reject(new DoNotRetryError('no')),
    })
    await send(genuine())
    await becomes('1', 'dead')
    const found = await samples()
    expect(found.get('countersign_inbox_entries{inbox="default",state="dead"}')).toBe(1)
    expect(found.get('countersign_inbox_oldest_dead_letter_age_seconds{inbox="default"}')).toBeGreaterThan(59)
    expect(found.get('countersign_inbox_readable{inbox="default"}')).toBe(1)
  })

  it('says that an inbox does not answer, and has the other metrics all the same', async () => {
    const inbox = new MemoryInbox()
    const { samples, send } = await observed({ inbox })
    inbox.stats = () => new Promise(() => {})
    await send(genuine())
    const pass = fakeTimeouts()
    const sampled = samples()
    await pass(2_000)
    const found = await sampled
    expect(found.get('countersign_inbox_readable{inbox="default"}')).toBe(0)
    expect([...found.keys()].filter((name) => name.startsWith('countersign_inbox_entries'))).toEqual([])
    expect(found.get(`countersign_callbacks_total{outcome="stored",code="STORED",${TYPE}}`)).toBe(1)
  })

  it('measures the commits of a SQLite inbox, the batches and the event loop', async () => {
    const inbox = new SqliteInbox({ file: inboxFile() })
    const { send, becomes, samples } = await observed({ inbox, in: 'the standalone server' })
    await send(genuine())
    await becomes('1', 'handled')
    const found = await samples()
    expect(found.get('countersign_inbox_commit_duration_seconds_count')).toBeGreaterThanOrEqual(2)
    expect(found.get('countersign_inbox_commit_operations_sum')).toBeGreaterThanOrEqual(2)
    expect(found.get('countersign_batch_callbacks_sum')).toBe(1)
    expect(found.get('countersign_event_loop_delay_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0)
  })

  it('observes a worker, and counts what operators do', async () => {
    const inbox = new MemoryInbox()
    const worker = createWorker({ inbox, pollMs: 5, logger: silent })
    worker.on(subscription.eventTypeName, () => Promise.reject(new DoNotRetryError('no')))
    const metrics = prometheusMetrics()
    metrics.observe(worker, { inbox: 'payments' })
    const dead = new Promise((resolve) => worker.onDeadLetter(resolve))
    await worker.start()
    await inbox.add(arrival())
    await dead
    await inbox.act('1', 'discard', 'ada')
    const found = samplesOf(await metrics.text())
    expect(found.get('countersign_operator_actions_total{action="discard"}')).toBe(1)
    expect(found.has('countersign_inbox_entries{inbox="payments",state="dead"}')).toBe(true)
    await worker.stop()
  })

  it('ends, and costs nothing from then on', async () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: silent })
    const has = () => (receiver.events as unknown as { has(name: string): boolean }).has('handled')
    const end = prometheusMetrics().observe(receiver)
    expect(has()).toBe(true)
    end()
    end()
    expect(has()).toBe(false)
  })

  it('refuses wrong options, with what to pass', () => {
    expect(() => prometheusMetrics({ register: {} as never })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION_INVALID', option: 'register' }),
    )
    expect(() => prometheusMetrics({ maxEventTypes: 0 })).toThrow(
      /maxEventTypes is 0: use a whole number from 1/,
    )
    expect(() => prometheusMetrics({ prefix: 'x' } as never)).toThrow(/no option "prefix"/)
    expect(() => prometheusMetrics().observe({} as never)).toThrow(/pass a receiver or a worker/)
  })

  itWhere(promtool !== undefined, 'promtool')('passes the checks of promtool', async () => {
    // An explanation of the refusal would go on after the last test.
    const { send, metrics, becomes } = await observed({ diagnosis: false })
    await send(genuine())
    await becomes('1', 'handled')
    await send(genuine({ headers: { Authorization: FORGED } }))
    const input = await metrics.text()
    expect(execFileSync(promtool!, ['check', 'metrics'], { input, encoding: 'utf8' })).toBe('')
  })
})
