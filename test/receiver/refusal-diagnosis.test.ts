import { createReceiver } from '../../src/index.js'
import type { ExplainedEvent } from '../../src/events/lifecycle-events.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { serve } from '../support/hosts.js'
import { genuine, SECRET, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { countingReceiver, MISMATCH, misconfigured, plain } from './misconfigured-receiver.js'

// A busy machine may take the 50 ms of a search away from it, so a test asks again until the search was complete.
const OFTEN = { intervalMs: 1, msPerMinute: 60_000 }
const ATTEMPTS = 200

test('the line of a later refusal has the cause and the cure of an earlier one', async () => {
  const { receiver, log } = countingReceiver({ diagnosis: OFTEN })
  const first = genuine()
  const proven = () => log.withCode(MISMATCH).find(({ fields }) => fields['certainty'] === 'proven')
  for (let attempt = 0; attempt < ATTEMPTS && !proven(); attempt++) {
    await receiver.receive(plain(first))
    await new Promise(setImmediate)
  }
  expect(log.withCode(MISMATCH)[0]!.fields).not.toHaveProperty('cause')
  expect(proven()!.fields).toMatchObject({
    cause: 'secret-is-base64',
    cure: expect.stringContaining('Configure the decoded text'),
    causeOf: {
      idempotencyKey: first.headers['X-Idempotency-Key'],
      eventType: subscription.eventTypeName,
    },
  })
})

test('the cause is found without the headers by name, which Node may fail to make', async () => {
  const { receiver, log } = countingReceiver({ diagnosis: OFTEN })
  const listener = receiver.requestListener()
  const port = await serve((request, response) => {
    Object.defineProperty(request, 'headers', {
      get() {
        throw new TypeError('the raw list was shortened')
      },
    })
    listener(request, response)
  })
  const found = () => log.withCode(MISMATCH).find(({ fields }) => 'cause' in fields)
  for (let attempt = 0; attempt < ATTEMPTS && !found(); attempt++)
    await sendRawRequest(genuine().toHttp(), { port })
  expect(found()?.fields).toMatchObject({ cause: 'secret-is-base64' })
})

test('a subscriber of explained is told of the cause, also without a logger', async () => {
  const { receiver } = countingReceiver({ diagnosis: OFTEN, logger: false })
  const told: ExplainedEvent[] = []
  receiver.events.subscribe('explained', (event) => told.push(event))
  const proven = () => told.find(({ certainty }) => certainty === 'proven')
  for (let attempt = 0; attempt < ATTEMPTS && !proven(); attempt++) {
    await receiver.receive(plain())
    await new Promise(setImmediate)
  }
  expect(proven()).toEqual({
    cause: 'secret-is-base64',
    certainty: 'proven',
    cure: expect.stringContaining('Configure the decoded text'),
  })
})

test('without a logger and a subscriber nothing is explained', async () => {
  const { receiver, calls } = countingReceiver({ diagnosis: OFTEN, logger: false })
  for (let attempt = 0; attempt < 5; attempt++) {
    await receiver.receive(plain())
    await new Promise(setImmediate)
  }
  expect(calls()).toBe(5)
})

test('one line has a finding, and the next one does not', async () => {
  const { receiver, log, calls } = countingReceiver()
  await receiver.receive(plain())
  await until(() => calls() === 2)
  await receiver.receive(plain())
  await receiver.receive(plain())
  const hasCause = log.withCode(MISMATCH).map(({ fields }) => 'cause' in fields)
  expect(hasCause).toEqual([false, true, false])
})

test('diagnosis: false switches it off', async () => {
  const { receiver, log, calls } = countingReceiver({ diagnosis: false })
  for (let sent = 0; sent < 3; sent++) {
    await receiver.receive(plain())
    await new Promise(setImmediate)
  }
  expect(calls()).toBe(3)
  expect(log.withCode(MISMATCH).every(({ fields }) => !('cause' in fields))).toBe(true)
})

test('a proven finding that no later refusal has carried is logged when the receiver stops', async () => {
  let last: unknown
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { receiver, log, calls } = countingReceiver()
    await receiver.receive(plain())
    await receiver.stop()
    expect(calls()).toBe(2)
    last = log.lines.at(-1)
    if (log.withCode('WARN_SIGNATURE_EXPLAINED').length > 0) break
  }
  expect(last).toMatchObject({
    level: 'warn',
    fields: { code: 'WARN_SIGNATURE_EXPLAINED', cause: 'secret-is-base64' },
  })
})

test('a stop waits at most a second for a subscriptions function that does not answer', async () => {
  let calls = 0
  const { receiver, log } = countingReceiver({
    subscriptions: () => (++calls === 2 ? new Promise<never>(() => {}) : misconfigured),
  })
  await receiver.receive(plain())
  await until(() => calls === 2)
  const pass = fakeTimeouts()
  let isStopped = false
  const stopping = receiver.stop().then(() => (isStopped = true))
  await pass(900)
  expect(isStopped).toBe(false)
  await pass(200)
  await stopping
  expect(log.withCode('WARN_DIAGNOSIS_FAILED')).toEqual([])
})

test('a subscriptions function that fails for the explanation is a warning, and affects no answer', async () => {
  let calls = 0
  const { receiver, log } = countingReceiver({
    subscriptions: () => {
      if (++calls === 2) throw new Error(`no database for ${SECRET}`)
      return [...misconfigured, subscription].slice(0, 1)
    },
  })
  await receiver.receive(plain())
  await until(() => log.withCode('WARN_DIAGNOSIS_FAILED').length === 1)
  expect((await receiver.receive(plain())).status).toBe(401)
})

test.each([
  [{ intervalMs: 0 }, 'diagnosis.intervalMs is 0'],
  [{ msPerMinute: 0 }, 'diagnosis.msPerMinute is 0'],
  [{ interval: 5 }, 'diagnosis has no option "interval"'],
  [true, 'diagnosis is true'],
])('%p is refused', (diagnosis, problem) => {
  const create = () =>
    createReceiver({ subscriptions: misconfigured, diagnosis: diagnosis as never, logger: false })
  const message = expect.stringContaining(problem)
  expect(create).toThrow(expect.objectContaining({ option: 'diagnosis', message }))
})
