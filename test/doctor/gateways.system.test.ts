import { createServer, request as sendRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import express from 'express'
import { createReceiver } from '../../src/index.js'
import { serve } from '../support/hosts.js'
import { itBeside } from '../support/it-beside.js'
import { runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { examined, LONG_PAUSE_MS, notes, problems, seen } from './examined.js'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

type Forwarded = RequestOptions & { body: Buffer }

/** A gateway that reads a request, changes it, and forwards it to the receiver. */
async function gateway(
  receiverPort: number,
  change: (body: Buffer, request: IncomingMessage) => Partial<Forwarded>,
): Promise<number> {
  return serve((request, response) => {
    void buffer(request).then((body) => {
      const { body: forwarded = body, ...options } = change(body, request)
      const { 'transfer-encoding': _, ...headers } = request.headers
      const length = { 'content-length': forwarded.length }
      const { method, url: path } = request
      const all = { ...headers, ...length, ...(options.headers as object) }
      sendRequest({ port: receiverPort, method, path, agent: false, ...options, headers: all }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      }).end(forwarded)
    })
  })
}

describe('doctor through a gateway', () => {
  // All at once, as each waits for the pause of an upload.
  it('names what it changes', async () => {
    const changes: [string, (body: Buffer) => Partial<Forwarded>, string][] = [
      [
        'parses and serialises JSON',
        (body) => ({ body: Buffer.from(JSON.stringify(JSON.parse(body.toString()))) }),
        'body-reserialised',
      ],
      [
        'compresses bodies',
        (body) => ({ body: gzipSync(body), headers: { 'content-encoding': 'gzip' } }),
        'body-compressed',
      ],
      ['trims bodies', (body) => ({ body: Buffer.from(body.toString().trim()) }), 'body-trimmed'],
      [
        'decodes bodies as Latin-1',
        (body) => ({ body: Buffer.from(body.toString('latin1')) }),
        'body-decoded',
      ],
      ['cuts bodies', (body) => ({ body: body.subarray(0, 200) }), 'body-truncated'],
      [
        'rewrites a word of bodies',
        (body) => ({ body: Buffer.from(body.toString().replace('amount', 'Amount')) }),
        'body-changed',
      ],
      [
        'writes another timestamp',
        () => ({ headers: { 'authorization-timestamp': 'Tue, 03 Nov 2026 09:14:27 GMT' } }),
        'header-changed',
      ],
    ]
    const found = changes.map(async ([what, change]) => {
      const { port } = await runReceiver({ maxBodyBytes: 9_000 })
      return [what, problems(await examined(await gateway(port, change)))]
    })
    expect(await Promise.all(found)).toEqual(changes.map(([what, , finding]) => [what, [finding]]))
  })

  // At once, as each waits for the pauses of uploads. The first number is the first request that is lost.
  it('that loses one of several requests does not blame the form of a body', async () => {
    const lost = [2, 3, 4, 5, 6].flatMap((every) =>
      [...Array(every).keys()].map((first) => ({ every, first })),
    )
    const found = await Promise.all(
      lost.map(async ({ every, first }) => {
        const { port } = await runReceiver({ maxBodyBytes: 9_000, logger: false })
        const forward = await gateway(port, () => ({}))
        let count = 0
        const losing = await serve((request, response) => {
          if (count++ % every === first)
            return void request.resume().on('end', () => response.writeHead(404).end())
          const { method, url: path, headers } = request
          const forwarded = sendRequest({ port: forward, method, path, headers, agent: false }, (answer) =>
            answer.pipe(response.writeHead(answer.statusCode!, answer.headers)),
          )
          request.pipe(forwarded)
        })
        return problems(await examined(losing))
      }),
    )
    // The plain probe and the four others are five requests: the sixth is not sent if all get through.
    expect(found).toEqual(lost.map(({ first }) => (first === 5 ? [] : ['probe-lost'])))
  })

  it('that drops a header fails once', async () => {
    const { port } = await runReceiver({ maxBodyBytes: 9_000 })
    const proxy = await serve((request, response) => {
      const { method, url: path } = request
      const { authorization: _, ...headers } = request.headers
      const forwarded = sendRequest({ port, method, path, headers, agent: false }, (answer) =>
        answer.pipe(response.writeHead(answer.statusCode!, answer.headers)),
      )
      request.pipe(forwarded)
    })
    const result = await examined(proxy)
    expect(problems(result)).toEqual(['authorization-stripped'])
    expect(result.steps.filter(({ ok }) => !ok)).toEqual([])
  })

  it('that refuses Expect', async () => {
    const { port } = await runReceiver()
    const forward = await gateway(port, () => ({}))
    const refusing = createServer((request, response) => {
      request.pipe(
        sendRequest(
          { port: forward, method: 'POST', path: request.url, headers: request.headers },
          (answer) => answer.pipe(response.writeHead(answer.statusCode!, answer.headers)),
        ),
      )
    })
    refusing.on('checkExpectation', (_, response) => response.writeHead(417).end())
    refusing.on('checkContinue', (_, response) => response.writeHead(417).end())
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
    closers.push(() => void refusing.close())
    const result = await examined((refusing.address() as AddressInfo).port)
    expect(problems(result)).toEqual(['expect-mishandled'])
    expect(seen(result, 'expect-mishandled')).toMatch(/^417/)
  })

  it('in front of an application that parses the body first', async () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    receiver.on(subscription.eventTypeName, () => {})
    const port = await serve(express().use(express.json()).use(receiver.middleware()))
    const result = await examined(port)
    expect(problems(result)).toContain('body-consumed')
  })

  it('whose receiver has another clock', async () => {
    const { port } = await runReceiver({ clock: () => Date.now() + 120_000 })
    const result = await examined(port)
    expect(problems(result)).toEqual(['clock-differs'])
    expect(seen(result, 'clock-differs')).toBe('the receiver is 120 s ahead of this machine')
  })

  it('whose receiver has so different a clock that the first probe is refused', async () => {
    const ahead = 3_600_000
    const { port } = await runReceiver({ clock: () => Date.now() + ahead })
    const proxy = await serve((request, response) => {
      void buffer(request).then((body) => {
        const { method, url: path, headers } = request
        sendRequest({ port, method, path, headers, agent: false }, (answer) => {
          const date = new Date(Date.now() + ahead).toUTCString()
          response.writeHead(answer.statusCode!, { ...answer.headers, date })
          answer.pipe(response)
        }).end(body)
      })
    })
    const result = await examined(proxy)
    expect(result.reached).toBe('receiver')
    expect(problems(result)).toEqual(['clock-differs'])
  })

  it('whose receiver waits too short a time for bodies', async () => {
    const { port } = await runReceiver({ bodyTimeoutMs: 600, maxBodyBytes: 9_000 })
    const result = await examined(port, { pauseMs: LONG_PAUSE_MS })
    expect(problems(result)).toEqual(['slow-upload-cut'])
    expect(seen(result, 'slow-upload-cut')).toMatch(/^by the receiver after \d+ ms: bodyTimeoutMs$/)
  })

  it('that closes the connection in the middle of a slow body', async () => {
    const { port } = await runReceiver()
    const proxy = createTcpServer((client) => {
      const receiver = connect(port, '127.0.0.1')
      for (const socket of [client, receiver]) socket.on('error', () => {})
      client.pipe(receiver).pipe(client)
      client.setTimeout(800, () => client.resetAndDestroy())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    closers.push(() => void proxy.close())
    const result = await examined((proxy.address() as AddressInfo).port, { pauseMs: LONG_PAUSE_MS })
    expect(problems(result)).toEqual(['slow-upload-cut'])
    expect(seen(result, 'slow-upload-cut')).toMatch(/^ECONNRESET after \d+ ms$/)
  })

  it('whose receiver is rotating its secret', async () => {
    const { port } = await runReceiver()
    const result = await examined(port, { secrets: ['the-next-secret-0123456789', SECRET] })
    expect(problems(result)).toEqual([])
  })

  it('that forges the report of a receiver', async () => {
    const port = await serve((_, response) => {
      const content = Buffer.from('{"headers":[]}').toString('base64url')
      response.writeHead(401).end(`countersign-report-1.${content}.${'A'.repeat(43)}`)
    })
    const result = await examined(port)
    expect(result.reached).toBe('http')
    expect(problems(result)).toEqual(['refused-on-the-way'])
  })

  it('that closes the connection, and one that never answers', async () => {
    const closing = createTcpServer((socket) =>
      socket.on('error', () => {}).once('data', () => socket.destroy()),
    )
    const silent = createTcpServer((socket) => void socket.on('error', () => {}).resume())
    for (const server of [closing, silent]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      closers.push(() => void server.close())
    }
    const portOf = (server: typeof closing): number => (server.address() as AddressInfo).port
    const closed = await examined(portOf(closing))
    expect(problems(closed)).toEqual(['no-answer'])
    expect(seen(closed, 'no-answer')).toBe('ECONNRESET')
    const waited = await examined(portOf(silent), { timeoutMs: 200 })
    expect(seen(waited, 'no-answer')).toBe('ETIMEDOUT')
    expect(notes(waited)).toEqual(['not-encrypted'])
  })

  // The pause has to be longer than two seconds.
  itBeside('whose pause is no slow path', async () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    receiver.on(subscription.eventTypeName, () => {})
    const server = createServer(receiver.requestListener())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const result = await examined(port, { pauseMs: 2_100 })
    server.close()
    expect(result.steps).toContainEqual(
      expect.objectContaining({ name: 'upload with a pause of 2100 ms', ok: true }),
    )
    expect(problems(result)).toEqual([])
  })
})
