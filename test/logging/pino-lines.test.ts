import pino from 'pino'
import { MemoryInbox } from '../support/whole-inbox.js'
import { away, interposed } from '../support/interposed-inbox.js'
import { withHeader } from '../support/http-bytes.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { FORGED, genuine, runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { storeWith } from '../support/stores.js'

function pinoLines(options: pino.LoggerOptions = {}) {
  const lines: string[] = []
  const logger = pino({ level: 'trace', ...options }, { write: (line: string) => void lines.push(line) })
  return { logger, lines }
}

/** The names that stand more than once in an object of the JSON. */
function repeatedNames(json: string): string[] {
  const repeated: string[] = []
  const open: Set<string>[] = []
  for (const [token, name] of json.matchAll(/"((?:[^"\\]|\\.)*)"\s*:|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (name !== undefined) {
      const names = open.at(-1)!
      if (names.has(name)) repeated.push(name)
      names.add(name)
    }
  }
  return repeated
}

const boom = new TypeError('boom', { cause: new Error('below') })

it('finds a name that stands twice', () => {
  expect(repeatedNames('{"a":{"b":"\\"a\\":"},"b":1,"a":2}')).toEqual(['a'])
})

describe('a line of pino', () => {
  it('has the error as pino writes one', async () => {
    const { logger, lines } = pinoLines()
    const { send } = await runReceiver({
      logger,
      handler: () => {
        throw boom
      },
    })
    await send(genuine())
    expect(JSON.parse(lines[0]!).err).toEqual({
      type: 'TypeError',
      message: 'boom: below',
      stack: expect.stringMatching(/^TypeError: boom\n {4}at .*\ncaused by: Error: below\n {4}at /s),
    })
  })

  it('has no name twice, whatever happens', async () => {
    const { logger, lines } = pinoLines()
    const failing = storeWith({ claim: away })
    const handled = await runReceiver({
      logger,
      handler: (event, { logger: given, attempt }) => {
        const own = given as pino.Logger
        own.info({ attempt, eventType: event.type, idempotencyKey: event.idempotencyKey, own: 1 }, 'mine')
        own.error(boom)
        own.warn('only text')
        own.info({ attempt: 2, err: boom }, 'with %s', 'a placeholder')
        const child = own.child({ tenant: 42, attempt: 7 })
        child.fatal({ tenant: 43 }, 'of a child')
        throw boom
      },
    })
    await handled.send(genuine())
    await handled.send(withHeader(genuine().toHttp(), 'Authorization', FORGED))
    await (await runReceiver({ logger, store: failing })).send(genuine())

    const { inbox, set } = interposed(new MemoryInbox())
    let times = 0
    const kept = await runInboxReceiver({
      inbox,
      logger,
      maxAttempts: 2,
      retryDelayMs: 1,
      handler: () => {
        if (times++ === 0) set('settle', () => (set('settle', undefined), away()))
        throw boom
      },
    })
    await kept.send(genuine())
    await kept.becomes('1', 'dead')
    await kept.receiver.stop()

    const messages = lines.map((line) => JSON.parse(line).msg)
    expect(messages).toEqual(
      expect.arrayContaining([
        'mine',
        'boom',
        'only text',
        'with a placeholder',
        'of a child',
        'entry is a dead letter',
      ]),
    )
    expect(lines.flatMap(repeatedNames)).toEqual([])
    for (const line of lines.filter((each) => JSON.parse(each).msg === 'mine'))
      expect(JSON.parse(line)).toMatchObject({ attempt: 1, own: 1, level: 30 })
    expect(JSON.parse(lines.find((line) => line.includes('of a child'))!)).toMatchObject({
      tenant: 43,
      attempt: 7,
    })
    expect(JSON.parse(lines.find((line) => line.includes('only text'))!)).toMatchObject({ attempt: 1 })
  })

  it('says once what a failed attempt failed with', async () => {
    const { logger, lines } = pinoLines()
    const { send, becomes } = await runInboxReceiver({
      logger,
      maxAttempts: 1,
      handler: () => {
        throw Object.assign(new Error('once only'), { stack: 'Error: once only\n    at here' })
      },
    })
    await send(genuine())
    await becomes('1', 'dead')
    const line = lines.find((each) => each.includes('dead letter'))!
    const { err, ...rest } = JSON.parse(line)
    expect(err).toEqual({ type: 'Error', message: 'once only', stack: 'Error: once only\n    at here' })
    expect(JSON.stringify(rest)).not.toContain('once only')
  })

  it('has the key and the type also after a handler has set the level of its logger', async () => {
    const { logger, lines } = pinoLines({ level: 'info' })
    const callback = genuine()
    const { send } = await runReceiver({
      logger,
      handler: (_event, context) => {
        const own = context.logger as pino.Logger
        own.debug('not yet')
        own.level = 'debug'
        own.debug('in detail')
        own.level = 'error'
        own.warn('no more')
        own.error('the end')
      },
    })
    await send(callback)
    const own = lines.map((line) => JSON.parse(line)).filter(({ outcome }) => outcome === undefined)
    const idempotencyKey = callback.headers['X-Idempotency-Key']
    expect(own).toMatchObject([
      { msg: 'in detail', level: 20, idempotencyKey, eventType: subscription.eventTypeName, attempt: 1 },
      { msg: 'the end', level: 50, idempotencyKey, eventType: subscription.eventTypeName, attempt: 1 },
    ])
  })

  it('keeps the levels and methods of pino for handlers', async () => {
    const { logger, lines } = pinoLines({ level: 'warn' })
    const { send } = await runReceiver({
      logger,
      handler: (_event, { logger: own }) => {
        own.info({}, 'not written')
        ;(own as unknown as pino.Logger).trace({}, 'nor this')
        ;(own as unknown as pino.Logger).fatal({}, 'but this')
        expect((own as unknown as pino.Logger).isLevelEnabled('info')).toBe(false)
      },
    })
    await send(genuine())
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['but this'])
  })
})

describe('an error of 10 MB that holds a secret', () => {
  it.each(['as text', 'as secretText'])(
    'is a line of some KB and a reason of 500 characters, without it: %s',
    async (spelled) => {
      const secret = spelled === 'as text' ? SECRET : Buffer.from(SECRET).toString('base64')
      const { logger, lines } = pinoLines()
      const error = new Error(
        `sent ${secret}${'x'.repeat(450)}${secret}${'y'.repeat(3_000)}${secret}${'z'.repeat(1e7)}`,
      )
      const { send, becomes, entries } = await runInboxReceiver({
        logger,
        maxAttempts: 2,
        retryDelayMs: 1,
        handler: () => {
          throw error
        },
      })
      await send(genuine())
      await becomes('1', 'dead')
      const [entry] = await entries()
      expect(entry!.reason).toMatch(/^Error: sent \[hidden\]x+\[?h?i?d?d?e?n?\]?…$/)
      expect(entry!.reason!.length).toBeLessThanOrEqual(500)
      expect(JSON.stringify(entry)).not.toContain(secret.slice(0, 8))
      expect(lines.join('')).not.toContain(secret.slice(0, 8))
      for (const line of lines) expect(line.length).toBeLessThan(20_000)
      expect(lines.filter((line) => line.includes('cut: it has 1000'))).toHaveLength(2)
    },
  )

  it('of a tenant that a function returned is hidden as well', async () => {
    const { logger, lines } = pinoLines()
    const tenant = {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: 'https://partner.example.com/hooks/transfers',
      secret: 'the-secret-of-a-tenant',
    }
    const { send, entries, becomes } = await runInboxReceiver({
      logger,
      subscriptions: async () => [tenant],
      maxAttempts: 1,
      handler: () => {
        throw new Error(`refused: ${tenant.secret}`)
      },
    })
    await send(genuine({ subscription: tenant }))
    await becomes('1', 'dead')
    expect((await entries())[0]!.reason).toBe('Error: refused: [hidden]')
    expect(lines.join('')).not.toContain(tenant.secret)
  })
})
