import { Console } from 'node:console'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { loggerOption } from '../../src/logging/logger-option.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'

async function written(write: (logger: ReturnType<typeof loggerOption>) => unknown): Promise<string> {
  const stream = new PassThrough()
  await write(loggerOption('createReceiver', new Console(stream)))
  stream.end()
  return text(stream)
}

describe('console', () => {
  it('is given one readable line for each callback, without fields that have no value', async () => {
    const output = await written(async (logger) => {
      const { send } = await runReceiver({
        logger,
        handler: (event, { logger: own }) => {
          own.info({ own: 1 }, 'from the handler')
          if (event.payload.Id === 'bad') throw new TypeError('no such account')
        },
      })
      await send(genuine())
      await send(genuine({ payload: { Id: 'bad' } }))
      await send(genuine({ headers: { Authorization: 'none' } }))
    })
    const lines = output.trimEnd().split('\n')
    expect(lines).toEqual([
      expect.stringMatching(
        /^countersign: from the handler idempotencyKey=\S+ eventType=\S+ attempt=1 own=1$/,
      ),
      expect.stringMatching(
        /^countersign: HANDLED callback handled outcome=handled status=200 .*durationMs=\S+$/,
      ),
      expect.stringMatching(/^countersign: from the handler /),
      expect.stringMatching(/^countersign: ERR_HANDLER_FAILED .* err="TypeError: no such account at .*"$/),
      expect.stringMatching(/^countersign: ERR_AUTHORIZATION_MALFORMED .* verified=false /),
    ])
    expect(output).not.toContain('undefined')
    expect(output).toContain(`eventType=${subscription.eventTypeName}`)
  })

  it('does not read placeholders in what a sender wrote', async () => {
    const output = await written((logger) => logger.warn({ eventType: '%s %o' }, '100 %d'))
    expect(output).toBe('countersign: 100 %d eventType="%s %o"\n')
  })

  it('is given one line, without characters that a terminal takes for a command', async () => {
    const output = await written((logger) =>
      logger.warn({ code: 'X\n', 'a\nb': 'c\u001b[31m', err: new Error('two\nlines') }, 'first\nsecond'),
    )
    expect(output.split('\n')).toHaveLength(2)
    expect(output).not.toContain('\u001b')
  })

  it('is given fields that have no JSON', async () => {
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    const output = await written((logger) => logger.warn({ circular, big: 1n, nothing: undefined }, 'm'))
    expect(output).toBe('countersign: m circular=[object] big=[bigint]\n')
  })
})
