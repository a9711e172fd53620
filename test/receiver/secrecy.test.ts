import { Writable } from 'node:stream'
import { inspect } from 'node:util'
import pino from 'pino'
import type { Logger, Outcome } from '../../src/index.js'
import { collectedLog } from '../support/collected-log.js'
import { HOST_NAMES, type HostName } from '../support/hosts.js'
import { withHeader } from '../support/http-bytes.js'
import { FORGED, genuine, runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { storeWith } from '../support/stores.js'

const OTHER_KEY = '3f2504e0-4f89-11d3-9a0c-0305e82c3301'
const TOKEN = 'a-token-in-the-query'
const BODY_TEXT = 'what only the body says'
const subscribed = { ...subscription, callbackUrl: `${subscription.callbackUrl}?token=${TOKEN}` }

/** Everything that can go right or wrong, in turn; answers, and what was heard of it besides. */
async function everything(hostName: HostName, logger: Logger) {
  const signatures = new Set<string>()
  const outcomes: Outcome[] = []
  const answers: string[] = []
  let failure: unknown
  const storeError = Object.assign(new Error('away'), { config: { headers: { Authorization: FORGED } } })
  let storeFails = false
  const { receiver, send } = await runReceiver({
    in: hostName,
    subscriptions: [subscribed],
    logger,
    maxBodyBytes: 500,
    store: storeWith({ claim: (take) => (storeFails ? Promise.reject(storeError) : take()) }),
    handler() {
      if (failure) throw failure
    },
  })
  receiver.onOutcome((outcome) => outcomes.push(outcome))

  const callback = (options: Parameters<typeof genuine>[0] = {}) => {
    const made = genuine({
      subscription: subscribed,
      payload: { Id: BODY_TEXT, at: signatures.size },
      ...options,
    })
    signatures.add(made.headers['Authorization']?.split('Signature=')[1] ?? FORGED)
    return made
  }
  const deliver = async (request: Parameters<typeof send>[0]) => {
    const { status, headers, body } = await send(request)
    answers.push(`${status} ${JSON.stringify(headers)} ${body}`)
  }

  const first = callback()
  await deliver(first)
  await deliver(first)
  await deliver(withHeader(first.toHttp(), 'X-Idempotency-Key', OTHER_KEY))
  await deliver(callback({ eventType: 'accounts.closed' }))
  await deliver(callback({ timestamp: new Date(0) }))
  await deliver(callback({ payload: undefined, body: BODY_TEXT }))
  await deliver(callback({ idempotencyKey: 'none' }))
  await deliver(callback({ headers: { Authorization: `Bearer ${TOKEN}` } }))
  await deliver(callback({ headers: { Authorization: FORGED } }))
  await deliver(callback({ payload: { Id: BODY_TEXT.repeat(50) } }))
  const encoded = Buffer.from(SECRET).toString('base64')
  failure = Object.assign(new Error(`mine: ${SECRET}, sent as ${encoded} with Authorization: ${FORGED}`), {
    config: { headers: { Authorization: FORGED }, data: BODY_TEXT },
    cause: Object.assign(new Error(`below: ${SECRET} and Bearer ${TOKEN}`), { request: { secret: SECRET } }),
  })
  await deliver(callback())
  failure = { Authorization: FORGED, secret: SECRET }
  await deliver(callback())
  storeFails = true
  await deliver(callback())
  expect(new Set(outcomes.map(({ code }) => code)).size).toBe(12)

  const hidden = [
    SECRET,
    Buffer.from(SECRET).toString('base64'),
    TOKEN,
    BODY_TEXT,
    FORGED.slice(-44),
    ...signatures,
  ]
  return { answers: answers.join('\n'), outcomes, hidden }
}

function expectNone(text: string, hidden: readonly string[]): void {
  expect(hidden.filter((each) => text.includes(each))).toEqual([])
}

describe.each(HOST_NAMES)('in %s', (hostName) => {
  it('no secret, signature, token or body stands in a log line or an answer', async () => {
    const log = collectedLog()
    const { answers, hidden } = await everything(hostName, log)
    expect(log.lines.length).toBeGreaterThan(12)
    expectNone(log.text(), hidden)
    expectNone(answers, hidden)
  })
})

it('none stands in the lines of pino either', async () => {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      done()
    },
  })
  const { hidden } = await everything('http.createServer', pino({ level: 'trace' }, stream))
  expect(text.split('\n').length).toBeGreaterThan(12)
  expectNone(text, hidden)
})

it('no outcome carries a secret or a signature', async () => {
  const { outcomes, hidden } = await everything('http.createServer', collectedLog())
  const [secret, secretText] = hidden
  for (const { callback, code, reason } of outcomes) {
    expectNone(inspect({ callback, code, reason }, { depth: Infinity }), [secret!, secretText!])
    expectNone(inspect(callback, { depth: Infinity }), hidden.slice(4))
  }
})

describe('the logger that a handler is given', () => {
  it('is a child of pino', async () => {
    const lines: Record<string, unknown>[] = []
    const stream = new Writable({
      write(chunk, _encoding, done) {
        lines.push(JSON.parse(String(chunk)))
        done()
      },
    })
    const { send } = await runReceiver({
      logger: pino(stream),
      handler: (_event, { logger }) => logger.warn({ own: 1 }, 'from the handler'),
    })
    await send(genuine({ idempotencyKey: OTHER_KEY }))
    expect(lines[0]).toMatchObject({
      level: 40,
      msg: 'from the handler',
      idempotencyKey: OTHER_KEY,
      eventType: subscription.eventTypeName,
      attempt: 1,
      own: 1,
    })
    expect(lines[1]).toMatchObject({ level: 30, msg: 'callback handled', code: 'HANDLED', verified: true })
  })

  it('fits console', async () => {
    const info = jest.spyOn(console, 'info').mockImplementation(() => {})
    try {
      const { send } = await runReceiver({
        logger: console,
        handler: (_event, { logger }) => logger.info({ own: 1 }, 'from the handler'),
      })
      await send(genuine())
      expect(info.mock.calls).toEqual([
        [
          expect.stringMatching(
            /^countersign: from the handler .*eventType=transfers\.book-completed attempt=1 own=1$/,
          ),
        ],
        [expect.stringMatching(/^countersign: HANDLED callback handled outcome=handled status=200 /)],
      ])
    } finally {
      info.mockRestore()
    }
  })
})

it('each outcome is one line with its reason, key, event type and subscription', async () => {
  const { send, log } = await runReceiver({ subscriptions: [{ ...subscribed, description: 'tenant 42' }] })
  await send(genuine({ subscription: subscribed, idempotencyKey: OTHER_KEY }))
  expect(log.lines).toEqual([
    {
      level: 'info',
      message: 'callback handled',
      fields: {
        outcome: 'handled',
        status: 200,
        code: 'HANDLED',
        reason: 'every handler finished',
        verified: true,
        idempotencyKey: OTHER_KEY,
        eventType: subscription.eventTypeName,
        subscription: {
          eventTypeName: subscription.eventTypeName,
          callbackUrl: subscription.callbackUrl,
          description: 'tenant 42',
        },
        durationMs: expect.any(Number),
        err: undefined,
      },
    },
  ])
})
