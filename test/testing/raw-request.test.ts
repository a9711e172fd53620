import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { randomRuns } from '../support/random-runs.js'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')

let servers: { server: Server; sockets: Set<Socket> }[] = []

async function listen(onConnection: (socket: Socket) => void): Promise<{ port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  servers.push({ server, sockets })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port }
}

/** A server that waits for the first bytes, then answers with these. */
function answer(...pieces: (string | Buffer)[]): Promise<{ port: number }> {
  return listen((socket) => {
    socket.once('data', () => {
      for (const piece of pieces) socket.write(piece)
    })
  })
}

function answerAndClose(text: string): Promise<{ port: number }> {
  return listen((socket) => socket.once('data', () => socket.end(text)))
}

afterEach(async () => {
  for (const { server, sockets } of servers) {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  servers = []
})

describe('what is sent', () => {
  async function receivedBy(bytes: Uint8Array | Uint8Array[], length: number): Promise<Buffer> {
    const received: Buffer[] = []
    const target = await listen((socket) => {
      socket.on('data', (data) => {
        received.push(data)
        if (Buffer.concat(received).length >= length)
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
    })
    await sendRawRequest(bytes, target)
    return Buffer.concat(received)
  }

  it('is every byte that was given, HTTP or not', async () => {
    const everyByte = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
    expect(await receivedBy(everyByte, 256)).toEqual(everyByte)
  })

  it('is the pieces of a list in their order', async () => {
    const pieces = ['POST', ' / HTTP/1.1\r', '', '\n\r\n'].map((piece) => Buffer.from(piece))
    expect((await receivedBy(pieces, 19)).toString()).toBe('POST / HTTP/1.1\r\n\r\n')
  })

  it('is one piece first and the next only after it', async () => {
    const arrivals: string[] = []
    const target = await listen((socket) => {
      socket.on('data', (data) => {
        arrivals.push(data.toString())
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
    })
    await sendRawRequest([Buffer.from('first'), Buffer.alloc(50_000_000, 'x')], target)
    expect(arrivals[0]?.startsWith('first')).toBe(true)
    expect(arrivals.join('').length).toBeLessThan(50_000_000)
  })
})

describe('the answer', () => {
  it('is read by its Content-Length, while the connection stays open', async () => {
    const target = await answer('HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello, and more')
    expect(await sendRawRequest(REQUEST, target)).toEqual({
      status: 404,
      statusText: 'Not Found',
      headers: { 'content-length': '5' },
      body: Buffer.from('hello'),
    })
  })

  it('is read when it is chunked, with extensions and trailers', async () => {
    const target = await answer(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n',
      '3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX-Trailer: 1\r\n\r\n',
    )
    expect((await sendRawRequest(REQUEST, target)).body.toString()).toBe('hello')
  })

  it('is read to the end of the connection when nothing gives its length', async () => {
    const target = await answerAndClose('HTTP/1.0 200 OK\r\n\r\nhello')
    expect((await sendRawRequest(REQUEST, target)).body.toString()).toBe('hello')
  })

  it.each([204, 304])('has no body when it is a %i', async (status) => {
    const target = await answer(`HTTP/1.1 ${status} Bodiless\r\nX-A: 1\r\n\r\n`)
    expect((await sendRawRequest(REQUEST, target)).body).toHaveLength(0)
  })

  it('is the first that is not interim', async () => {
    const target = await answer(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n',
      'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
    )
    expect(await sendRawRequest(REQUEST, target)).toMatchObject({
      status: 201,
      headers: { 'content-length': '0' },
    })
  })

  it('may have thousands of interim ones before it', async () => {
    const target = await answer(
      'HTTP/1.1 102 \r\n\r\n'.repeat(40_000),
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    )
    expect((await sendRawRequest(REQUEST, target)).status).toBe(200)
  })

  it('has lower-case header names, trimmed values, and repeated values joined', async () => {
    const target = await answer(
      'HTTP/1.1 200 \r\nX-A: \t 1 \r\nx-a:2\r\nX-Empty: \r\nContent-Length: 0\r\n\r\n',
    )
    const { headers, statusText } = await sendRawRequest(REQUEST, target)
    expect(headers).toEqual({ 'x-a': '1, 2', 'x-empty': '', 'content-length': '0' })
    expect(statusText).toBe('')
  })

  it('is the same wherever the network cuts it', async () => {
    const text =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n'
    let cuts: number[] = []
    const target = await listen((socket) => {
      socket.setNoDelay(true)
      socket.once('data', async () => {
        for (const [index, cut] of cuts.entries()) {
          await new Promise((resolve) => socket.write(text.slice(cuts[index - 1] ?? 0, cut), resolve))
          await new Promise(setImmediate)
        }
        socket.write(text.slice(cuts.at(-1) ?? 0))
      })
    })
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(text.length), { maxLength: 8 }), async (points) => {
        cuts = points.sort((a, b) => a - b)
        const { status, body } = await sendRawRequest(REQUEST, target)
        expect([status, body.toString()]).toEqual([200, 'hi'])
      }),
      { numRuns: randomRuns(60) },
    )
  })

  it.each(['resetAndDestroy', 'destroy'])(
    'counts when the server gives it early and hangs up while we write (%s)',
    async (hangUp) => {
      // On an event loop of its own, or the server would never get between two of our writes.
      const worker = new Worker(
        `const { createServer } = require('node:net')
         const { parentPort, workerData } = require('node:worker_threads')
         const answer = 'HTTP/1.1 413 Content Too Large\\r\\nContent-Length: 2\\r\\n\\r\\nno'
         const server = createServer((socket) => {
           socket.on('error', () => {})
           socket.once('data', () => socket.pause().write(answer, () => socket[workerData]()))
         })
         server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`,
        { eval: true, workerData: hangUp },
      )
      try {
        const port = await new Promise<number>((resolve) => worker.once('message', resolve))
        const rest = Buffer.alloc(5_000_000)
        // In which order the answer and the end of the connection reach us is chance, so it is tried often.
        for (let round = 0; round < 40; round++) {
          const { status, body } = await sendRawRequest([REQUEST, rest], { port })
          expect([status, body.toString()]).toEqual([413, 'no'])
        }
      } finally {
        await worker.terminate()
      }
    },
  )

  it('closes the connection', async () => {
    let closed: Promise<unknown> = Promise.reject(new Error('never connected'))
    closed.catch(() => {})
    const target = await listen((socket) => {
      closed = new Promise((resolve) => socket.once('close', resolve))
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    })
    await sendRawRequest(REQUEST, target)
    await closed
  })
})

describe('what is refused', () => {
  it('is a connection closed without an answer', async () => {
    const target = await answerAndClose('')
    await expect(sendRawRequest(REQUEST, target)).rejects.toMatchObject({ code: 'ERR_NO_RESPONSE' })
  })

  it('is a connection closed after an interim answer only', async () => {
    const target = await answerAndClose('HTTP/1.1 100 Continue\r\n\r\n')
    await expect(sendRawRequest(REQUEST, target)).rejects.toMatchObject({ code: 'ERR_NO_RESPONSE' })
  })

  it('is a connection reset without an answer, with the reset as the cause', async () => {
    const target = await listen((socket) => socket.once('data', () => socket.resetAndDestroy()))
    await expect(sendRawRequest(REQUEST, target)).rejects.toMatchObject({
      code: 'ERR_NO_RESPONSE',
      cause: { code: 'ECONNRESET' },
    })
  })

  it('is a port where nobody listens, with the code of the system', async () => {
    const target = await answer()
    await new Promise((resolve) => servers.pop()?.server.close(resolve))
    await expect(sendRawRequest(REQUEST, target)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('is a request that nobody reads, within the time given', async () => {
    const target = await listen((socket) => socket.pause())
    await expect(sendRawRequest(Buffer.alloc(20_000_000), target, { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'ERR_RESPONSE_TIMEOUT',
    })
  })

  it('is no answer within the time given', async () => {
    const target = await answer('HTTP/1.1 200 OK\r\nContent-Le')
    await expect(sendRawRequest(REQUEST, target, { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'ERR_RESPONSE_TIMEOUT',
    })
  })

  it('is an exchange whose signal is aborted, with the reason of the signal', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    const target = await listen((socket) => socket.once('data', () => stop.abort(reason)))
    await expect(sendRawRequest(REQUEST, target, { signal: stop.signal })).rejects.toBe(reason)
    await expect(sendRawRequest(REQUEST, target, { signal: stop.signal })).rejects.toBe(reason)
  })

  it('is an answer larger than 1 MiB', async () => {
    const target = await answer('HTTP/1.1 200 OK\r\n\r\n', Buffer.alloc(1_048_576))
    await expect(sendRawRequest(REQUEST, target)).rejects.toMatchObject({ code: 'ERR_RESPONSE_TOO_LARGE' })
  })

  it.each([
    ['is cut off within its body', 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello'],
    ['is cut off within its chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
    ['is cut off within its headers', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ])('is an answer that %s', async (_, text) => {
    const target = await answerAndClose(text)
    await expect(sendRawRequest(REQUEST, target)).rejects.toMatchObject({
      code: 'ERR_RESPONSE_MALFORMED',
      message: expect.stringContaining(`${text.length} bytes into the answer`),
    })
  })

  it.each([
    ['another protocol, without waiting for more of it', '\x15\x03\x01\x00\x02'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a header without a colon', 'HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n'],
    ['a header with a space before its colon', 'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n'],
    ['a Content-Length that is no number', 'HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello'],
    ['two Content-Lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello'],
    [
      'a length beside chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a compressed transfer', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['a chunk without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n'],
    [
      'a chunk longer than its size',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n',
    ],
  ])('is an answer with %s', async (_, text) => {
    const target = await answer(text)
    await expect(sendRawRequest(REQUEST, target)).rejects.toMatchObject({ code: 'ERR_RESPONSE_MALFORMED' })
  })

  it('is any answer of arbitrary bytes, always with a code and never with a crash', async () => {
    let bytes = Buffer.alloc(0)
    const target = await listen((socket) => socket.once('data', () => socket.end(bytes)))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          '',
          'HTTP/1.1 ',
          'HTTP/1.1 200 OK\r\n',
          'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
        ),
        fc.uint8Array({ maxLength: 60 }),
        async (start, rest) => {
          bytes = Buffer.concat([Buffer.from(start), rest])
          const result = await sendRawRequest(REQUEST, target).catch((error: { code: string }) => error.code)
          expect(result).toEqual(
            typeof result === 'string'
              ? expect.stringMatching(/^ERR_(NO_RESPONSE|RESPONSE_MALFORMED)$/)
              : expect.objectContaining({ status: 200 }),
          )
        },
      ),
      { numRuns: randomRuns(200) },
    )
  })
})
