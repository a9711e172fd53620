import { CAUSES } from '../../src/diagnosis/index.js'
import { createReceiver } from '../../src/index.js'
import type { ExplainedEvent } from '../../src/events/lifecycle-events.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { DIAGNOSIS_BOUNDS } from '../../src/receiver/refusal-diagnosis.js'
import type { CollectedLog } from '../support/collected-log.js'
import { serve } from '../support/hosts.js'
import { FORGED, genuine, SECRET, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { countingReceiver, MISMATCH, misconfigured, plain } from './misconfigured-receiver.js'

// A busy machine may take the 50 ms of a search away from it, so a test asks again until the search was complete.
Object.assign(DIAGNOSIS_BOUNDS, { intervalMs: 1, msPerMinute: 60_000 })
const ATTEMPTS = 200

const explained = (log: CollectedLog) => log.withCode('WARN_SIGNATURE_EXPLAINED')

test('one refused callback is enough: a line of its own has its key, the cause, the change and the cure', async () => {
  const { receiver, log } = countingReceiver()
  const sent: string[] = []
  const proven = () => explained(log).find(({ fields }) => fields['certainty'] === 'proven')
  for (let attempt = 0; attempt < ATTEMPTS && !proven(); attempt++) {
    const callback = genuine()
    sent.push(callback.headers['X-Idempotency-Key']!)
    await receiver.receive(plain(callback))
    await until(() => explained(log).length === sent.length)
  }
  expect(explained(log).map(({ fields }) => fields['idempotencyKey'])).toEqual(sent)
  expect(proven()).toMatchObject({
    level: 'warn',
    message: `a signature did not match (proven): ${CAUSES['secret-is-base64'].message}`,
    fields: {
      eventType: subscription.eventTypeName,
      cause: 'secret-is-base64',
      changes: ['decoded from Base64'],
      subscription: { callbackUrl: subscription.callbackUrl },
      cure: expect.stringContaining('Configure the decoded text'),
    },
  })
  expect(log.withCode(MISMATCH).every(({ fields }) => !('cause' in fields))).toBe(true)
})

test('the line names the URL that was signed, without its query', async () => {
  const configured = { ...subscription, callbackUrl: `${subscription.callbackUrl}/?token=a-token-of-the-url` }
  const subscribed = { ...configured, callbackUrl: configured.callbackUrl.replace('/?', '?') }
  const { receiver, log } = countingReceiver({ subscriptions: [configured] })
  const proven = () => explained(log).find(({ fields }) => fields['certainty'] === 'proven')
  for (let attempt = 1; attempt <= ATTEMPTS && !proven(); attempt++) {
    await receiver.receive(plain(genuine({ subscription: subscribed })))
    await until(() => explained(log).length === attempt)
  }
  expect(proven()?.fields).toMatchObject({
    cause: 'url-trailing-slash',
    signedUrl: subscription.callbackUrl.replace('https://', ''),
    subscription: {
      eventTypeName: subscription.eventTypeName,
      callbackUrl: `${subscription.callbackUrl}/`,
    },
  })
  expect(log.text()).not.toContain('a-token-of-the-url')
})

test('of a forged request the line does not say more than that no change fits', async () => {
  const { receiver, log } = countingReceiver()
  await receiver.receive(plain(genuine({ headers: { Authorization: FORGED } })))
  await until(() => explained(log).length === 1)
  expect(explained(log)[0]).toMatchObject({
    message: `a signature did not match (likely): ${CAUSES['forged-or-unknown'].message}`,
    fields: { cause: 'forged-or-unknown' },
  })
  expect(explained(log)[0]!.fields).not.toHaveProperty('signedUrl')
})

test('the cause is found without the headers by name, which Node may fail to make', async () => {
  const { receiver, log } = countingReceiver()
  const listener = receiver.requestListener()
  const port = await serve((request, response) => {
    Object.defineProperty(request, 'headers', {
      get() {
        throw new TypeError('the raw list was shortened')
      },
    })
    listener(request, response)
  })
  await sendRawRequest(genuine().toHttp(), { port })
  await until(() => explained(log).length === 1)
  expect(explained(log)[0]!.fields).toMatchObject({ cause: 'secret-is-base64' })
})

test('a subscriber of explained is told of the cause, also without a logger', async () => {
  const { receiver } = countingReceiver({ logger: false })
  const told: ExplainedEvent[] = []
  receiver.events.on('explained', (event) => told.push(event))
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
  const { receiver, calls } = countingReceiver({ logger: false })
  for (let attempt = 0; attempt < 5; attempt++) {
    await receiver.receive(plain())
    await new Promise(setImmediate)
  }
  expect(calls()).toBe(5)
})

test('diagnosis: false switches it off', async () => {
  const { receiver, log, calls } = countingReceiver({ diagnosis: false })
  for (let sent = 0; sent < 3; sent++) {
    await receiver.receive(plain())
    await new Promise(setImmediate)
  }
  expect(calls()).toBe(3)
  expect(explained(log)).toEqual([])
})

test('a subscriptions function that fails for the explanation is a warning, and affects no answer', async () => {
  DIAGNOSIS_BOUNDS.intervalMs = 10_000
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
  [{ intervalMs: 5 }, 'diagnosis is of type object: use true or false'],
  ['no', 'diagnosis is "no": use true or false'],
])('%p is refused', (diagnosis, problem) => {
  const create = () =>
    createReceiver({ subscriptions: misconfigured, diagnosis: diagnosis as never, logger: false })
  const message = expect.stringContaining(problem)
  expect(create).toThrow(expect.objectContaining({ option: 'diagnosis', message }))
})
