import type { IncomingMessage, ServerResponse } from 'node:http'
import express5 from 'express'
import express4 from 'express4'
import { createReceiver, type Outcome } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { collectedLog } from '../support/collected-log.js'
import { connection } from '../support/connection.js'
import { serve } from '../support/hosts.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const keepBytes = (request: IncomingMessage, _response: ServerResponse, bytes: Buffer) => {
  Object.assign(request, { rawBody: bytes })
}

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('in %s', (_name, express) => {
  async function deliver(ahead: express5.RequestHandler, callback = genuine()) {
    const log = collectedLog()
    const handled: Buffer[] = []
    const receiver = createReceiver({ subscriptions: [subscription], logger: log })
    receiver.onAny(({ rawBody }) => handled.push(rawBody))
    const app = express().use(ahead).post('/hooks/transfers', receiver.middleware())
    const { status } = await sendRawRequest(callback.toHttp(), { port: await serve(app) })
    return { status, handled, line: log.lines.find(({ fields }) => 'outcome' in fields)!, log }
  }

  describe.each([
    ['express.json()', express.json({ type: () => true })],
    ['express.urlencoded()', express.urlencoded({ extended: false, type: () => true })],
    ['express.text()', express.text({ type: () => true })],
  ])('%s ahead of the receiver', (_parser, parser) => {
    it('is found at once, and the log names the cause and both cures', async () => {
      const { status, handled, line } = await deliver(parser)
      expect(status).toBe(503)
      expect(handled).toEqual([])
      expect(line.level).toBe('error')
      expect(line.fields).toMatchObject({ code: 'ERR_BODY_ALREADY_READ', verified: false })
      expect(line.fields['reason']).toMatch(/express\.json\(\) read the body before/)
      expect(line.fields['reason']).toMatch(/Mount the receiver before the parser/)
      expect(line.fields['reason']).toMatch(/verify: .*rawBody = /)
    })

    it('is no 500 and no error for onError, as nobody was authenticated; the sender is told to come back', async () => {
      const onError = jest.fn()
      const outcomes: Outcome[] = []
      const receiver = createReceiver({ subscriptions: [subscription], logger: false }).onAny(() => {})
      receiver.onError(onError).onOutcome((outcome) => outcomes.push(outcome))
      const port = await serve(express().use(parser).use(receiver.middleware()))
      const forged = genuine({ headers: { Authorization: FORGED } })
      for (const callback of [forged, genuine()]) {
        const { status, headers } = await sendRawRequest(callback.toHttp(), { port })
        expect([status, headers['retry-after']]).toEqual([503, '10'])
      }
      await until(() => outcomes.length === 2)
      expect(outcomes.map(({ code }) => code)).toEqual(['ERR_BODY_ALREADY_READ', 'ERR_BODY_ALREADY_READ'])
      expect(onError).not.toHaveBeenCalled()
    })

    it('still leaves a forged callback a 401', async () => {
      const { status } = await deliver(parser, genuine({ headers: { Authorization: null } }))
      expect(status).toBe(401)
    })
  })

  it.each([
    ['express.json()', express.json({ verify: keepBytes })],
    ['express.urlencoded()', express.urlencoded({ extended: false, type: () => true, verify: keepBytes })],
    ['express.text()', express.text({ type: () => true, verify: keepBytes })],
  ])('uses the bytes that the verify option of %s kept', async (_parser, parser) => {
    const callback = genuine()
    const { status, handled } = await deliver(parser, callback)
    expect(status).toBe(200)
    expect(handled).toEqual([callback.body])
  })

  it('does not take the body of a sender that has hung up for one that was read', async () => {
    const log = collectedLog()
    const receiver = createReceiver({ subscriptions: [subscription], logger: log }).onAny(() => {})
    const app = express()
    app.use((request, _response, next) => void request.once('close', () => next()))
    app.use(receiver.middleware())
    const { socket } = await connection(await serve(app))
    socket.write(genuine().toHttp().subarray(0, -1), () => socket.resetAndDestroy())
    await until(() => log.lines.length === 1)
    expect(log.lines[0]?.fields).toMatchObject({ code: 'ERR_BODY_ABORTED', status: 400 })
  })

  it('prefers the bytes that were kept to a body that a parser has changed', async () => {
    const callback = genuine()
    const { status, handled } = await deliver((request, _response, next) => {
      Object.assign(request, { rawBody: callback.body, body: Buffer.from('{}') })
      next()
    }, callback)
    expect(status).toBe(200)
    expect(handled).toEqual([callback.body])
  })

  it('uses the bytes that express.raw() left in the body', async () => {
    const callback = genuine()
    const { status, handled } = await deliver(express.raw({ type: () => true }), callback)
    expect(status).toBe(200)
    expect(handled).toEqual([callback.body])
  })

  it('reads the body of a request that other middleware has paused', async () => {
    const callback = genuine()
    const { status, handled } = await deliver((request, _response, next) => {
      request.pause()
      setImmediate(next)
    }, callback)
    expect(status).toBe(200)
    expect(handled).toEqual([callback.body])
  })

  it('reads the body itself where a parser left it alone', async () => {
    const callback = genuine({ headers: { 'Content-Type': 'text/plain' } })
    expect(await deliver(express.json(), callback)).toMatchObject({ status: 200 })
  })

  it.each([
    ['express.raw(), which keeps it', express.raw({ type: () => true }), {}],
    ['express.json(), where no length says that there is one', express.json(), { 'Content-Length': null }],
  ])('takes an empty body for what it is behind %s', async (_parser, parser, headers) => {
    const { status, line } = await deliver(parser, genuine({ body: '', headers }))
    expect(status).toBe(400)
    expect(line.fields).toMatchObject({ code: 'ERR_BODY_NOT_JSON' })
  })

  it('reads the body itself where `body` is parsed when it is read, which throws', async () => {
    const lazy: express5.RequestHandler = (request, _response, next) => {
      const get = () => {
        throw new Error('Invalid JSON')
      }
      Object.defineProperty(request, 'body', { get })
      next()
    }
    const { status, line } = await deliver(lazy, genuine({ body: '{', headers: { Authorization: FORGED } }))
    expect([status, line.fields['code']]).toEqual([401, 'ERR_SIGNATURE_MISMATCH'])
    expect(await deliver(lazy)).toMatchObject({ status: 200 })
  })

  it('does not take a text for the bytes it was decoded from', async () => {
    const { status, line } = await deliver((request, response, next) => {
      express.text({ type: () => true })(request, response, () => {
        Object.assign(request, { rawBody: request.body })
        next()
      })
    })
    expect(status).toBe(503)
    expect(line.fields).toMatchObject({ code: 'ERR_BODY_ALREADY_READ' })
  })

  it('does not take an object with a length for bytes', async () => {
    const { status } = await deliver((request, _response, next) => {
      Object.assign(request, { rawBody: { length: 3, 0: 1, 1: 2, 2: 3 } })
      next()
    })
    expect(status).toBe(200)
  })

  it('takes a stream that has ended without a byte for an empty body', async () => {
    const { line } = await deliver(
      (request, _response, next) => {
        request.once('end', next).resume()
      },
      genuine({ body: '' }),
    )
    expect(line.fields).toMatchObject({ code: 'ERR_BODY_NOT_JSON', verified: true })
  })

  it('finds a decoder that was put on the stream', async () => {
    const { status, line } = await deliver((request, _response, next) => {
      request.setEncoding('utf8')
      next()
    })
    expect(status).toBe(503)
    expect(line.fields).toMatchObject({ code: 'ERR_BODY_ALREADY_READ' })
  })

  it('finds a body of which somebody is still reading', async () => {
    const { status, line } = await deliver((request, _response, next) => {
      request.once('data', () => next())
    })
    expect(status).toBe(503)
    expect(line.fields).toMatchObject({ code: 'ERR_BODY_ALREADY_READ' })
  })

  it('takes kept bytes of exactly the largest size', async () => {
    const { status, handled } = await deliver(
      express.raw({ type: () => true, limit: '2mb' }),
      genuine({ body: `{"Id": "1"}${' '.repeat(1_048_576 - 11)}` }),
    )
    expect(status).toBe(200)
    expect(handled[0]).toHaveLength(1_048_576)
  })

  it('holds kept bytes to maxBodyBytes', async () => {
    const { status, line } = await deliver(
      express.raw({ type: () => true, limit: '2mb' }),
      genuine({ payload: { Id: 'x'.repeat(1_048_576) } }),
    )
    expect(status).toBe(413)
    expect(line.fields).toMatchObject({ code: 'ERR_BODY_TOO_LARGE' })
  })

  it('finds bytes in any view on memory', async () => {
    const { status } = await deliver((request, response, next) => {
      express.raw({ type: () => true })(request, response, () => {
        const bytes: Buffer = request.body
        request.body = undefined
        Object.assign(request, { rawBody: new Uint8Array(bytes) })
        next()
      })
    })
    expect(status).toBe(200)
  })
})
