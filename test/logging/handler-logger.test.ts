import { Console } from 'node:console'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTick } from 'node:timers/promises'
import pino from 'pino'
import type { HandlerLogger, Logger } from '../../src/index.js'
import { childLogger } from '../../src/logging/guarded-logger.js'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import { loggerOption } from '../../src/logging/logger-option.js'
import { collectedLog } from '../support/collected-log.js'
import { genuine, runReceiver, SECRET } from '../support/running-receiver.js'

const boom = new TypeError('no account')
const BINDINGS = { idempotencyKey: 'k' }

/** Each form that a line of pino has. */
const FORMS: readonly [string, (logger: HandlerLogger) => void][] = [
  ["('text')", (logger) => logger.error('booked')],
  ["(fields, 'text')", (logger) => logger.error({ id: 7 }, 'booked')],
  ["(error, 'text')", (logger) => logger.error(boom, 'not booked')],
  ['(error)', (logger) => logger.error(boom)],
  ['({ err })', (logger) => logger.error({ err: boom })],
  ["({ err }, 'text')", (logger) => logger.error({ err: boom, id: 7 }, 'not booked')],
  ["('format', value)", (logger) => logger.error('transfer %s of %d%% for %j', 'a', 7, { b: [1] })],
  ["(fields, 'format', value)", (logger) => logger.error({ id: 7 }, 'transfer %s', 'a')],
  ["(error, 'format', value)", (logger) => logger.error(boom, 'transfer %s', 'a')],
  ['a format with too few values', (logger) => logger.error('%s and %s', 'a')],
  ['a format with too many values', (logger) => logger.error('%s', 'a', 'b')],
  [
    'a format with values of other types',
    (logger) => logger.error('%i %o %O %f %s %d', 7.9, 'a', null, '1.5', null, null),
  ],
  ['a text with a percent sign', (logger) => logger.error('100 % of %%, 5%')],
  ['fields alone', (logger) => logger.error({ id: 7 })],
]

/** What pino writes, without its own fields. */
function pinoWrites(write: (logger: HandlerLogger) => void): Record<string, unknown> {
  const lines: string[] = []
  const logger = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) })
  write(logger.child(BINDINGS))
  const { level, ...line } = JSON.parse(lines[0]!)
  expect(level).toBe(50)
  return line
}

describe.each(FORMS)('%s', (_, write) => {
  const { msg = '', err, ...fields } = pinoWrites(write)

  it('is the same line with pino', () => {
    const lines: string[] = []
    const logger = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) })
    write(childLogger(loggerOption('createReceiver', logger), BINDINGS))
    expect(JSON.parse(lines[0]!)).toEqual({ level: 50, ...pinoWrites(write) })
  })

  it.each([
    ['four methods', () => {}],
    ['a child() that returns itself', (log: Logger) => Object.assign(log, { child: () => log })],
    ['a child() that returns another', (log: Logger) => Object.assign(log, { child: () => ({ ...log }) })],
  ])('has the same fields and text with a logger of %s', (_kind, change) => {
    const log = collectedLog()
    change(log)
    write(childLogger(loggerOption('createReceiver', log), BINDINGS))
    expect(log.lines).toHaveLength(1)
    const { err: given, ...others } = log.lines[0]!.fields
    expect({ level: log.lines[0]!.level, message: log.lines[0]!.message ?? '', fields: others }).toEqual({
      level: 'error',
      message: msg,
      fields,
    })
    if (err === undefined) expect(given).toBeUndefined()
    else expect(given).toMatchObject({ message: boom.message, stack: boom.stack })
  })

  it('is a line with the console', async () => {
    const stream = new PassThrough()
    write(childLogger(loggerOption('createReceiver', new Console(stream)), BINDINGS))
    stream.end()
    const line = await text(stream)
    expect(line).toMatch(/^countersign: \S.*\n$/)
    expect(line).toContain(msg)
    expect(line).toContain('idempotencyKey=k')
    expect(line.includes('err="TypeError: no account at ')).toBe(err !== undefined)
  })
})

describe("the application's logger", () => {
  const thrower = () => {
    throw new Error('no children')
  }
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }

  it.each([
    ['itself', (log: object) => log, false],
    ['a frozen logger', (log: object) => Object.freeze({ ...log }), false],
    ['a Proxy of itself', (log: object) => new Proxy(log, {}), false],
    ['a Proxy of a frozen one', (log: object) => new Proxy(Object.freeze({ ...log }), {}), false],
    ['an error', thrower, true],
    ['a revoked Proxy', revoked, true],
    ['an object without methods', () => ({}), true],
    ['nothing', () => undefined, true],
    ['a promise', async () => ({}), true],
    ['a promise that rejects', async () => Promise.reject(new Error('later')), true],
  ] as [string, (log: object) => unknown, boolean][])(
    'is not changed and has each line if its child() gives %s',
    async (_, child, isFault) => {
      const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true)
      const log = collectedLog()
      const logger: object = Object.assign(log, { child: () => child(logger) })
      const before = Object.getOwnPropertyDescriptors(logger)
      const { send } = await runReceiver({
        logger: logger as Logger,
        handler: ({ idempotencyKey }, { logger: own }) => own.info({ of: idempotencyKey }, 'booked'),
      })
      const callbacks = [genuine(), genuine(), genuine()]
      for (const callback of callbacks) expect((await send(callback)).status).toBe(200)
      await nextTick()
      expect(Object.getOwnPropertyDescriptors(logger)).toEqual(before)

      const keys = callbacks.map(({ headers }) => headers['X-Idempotency-Key'])
      const booked = log.lines.filter(({ message }) => message === 'booked')
      expect(booked.map(({ fields }) => fields)).toMatchObject(
        keys.map((key) => ({ of: key, idempotencyKey: key })),
      )
      const handled = log.lines.filter(({ fields }) => fields['code'] === 'HANDLED')
      expect(handled.map(({ fields }) => fields['idempotencyKey'])).toEqual(keys)
      for (const { fields } of handled) expect(fields).not.toHaveProperty('attempt')

      const written = stderr.mock.calls.map(([line]) => String(line))
      stderr.mockRestore()
      expect(written).toHaveLength(isFault ? 1 : 0)
      for (const line of written) expect(line).toMatch(/^countersign: ERR_LOGGER_FAILED .*child\(\).*\n$/)
    },
  )

  it('is not changed by a handler that sets the level of a logger that is its own child', async () => {
    const logger = { ...collectedLog(), level: 'info', child: () => logger }
    const own = childLogger(loggerOption('createReceiver', logger), {}) as unknown as { level: string }
    own.level = 'debug'
    expect(logger.level).toBe('info')
  })

  it('keeps its private fields when a handler uses its other methods', () => {
    class Own {
      readonly #names = ['own']
      debug() {}
      info() {}
      warn() {}
      error() {}
      child() {
        return new Own()
      }
      names() {
        return this.#names
      }
    }
    const own = childLogger(loggerOption('createReceiver', new Own()), {})
    expect((own as unknown as Own).names()).toEqual(['own'])
  })
})

it('an error alone is a line without the secrets that it holds', () => {
  const secrets = new KnownSecrets()
  secrets.add([{ secret: SECRET }])
  const log = collectedLog()
  childLogger(loggerOption('createReceiver', log, secrets), BINDINGS).error(new Error(`sent ${SECRET}`))
  expect(log.lines[0]!.message).toBe('sent [hidden]')
  expect(log.text()).not.toContain(SECRET)
})

it('fields whose err is no error have no text', () => {
  const log = collectedLog()
  childLogger(loggerOption('createReceiver', log), BINDINGS).error({ err: 'a text' })
  expect(log.lines[0]!.message).toBe('')
})

describe('a logger that fails', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error(`disk full, ${SECRET}`)
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error(`disk full, ${SECRET}`)
      },
    ],
  ])('and %s does not fail the handler, and standard error says so once a minute', async (_, error) => {
    const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true)
    const secrets = new KnownSecrets()
    secrets.add([{ secret: SECRET }])
    const logger = loggerOption('createReceiver', { ...collectedLog(), error }, secrets)
    const own = childLogger(logger, BINDINGS)
    for (let i = 0; i < 3; i++) own.error('booked')
    logger.error({}, 'of the receiver')
    await nextTick()
    const written = stderr.mock.calls.map(([line]) => String(line))
    stderr.mockRestore()
    expect(written).toEqual([
      expect.stringMatching(/^countersign: ERR_LOGGER_FAILED .*disk full, \[hidden\]/),
    ])
  })
})
