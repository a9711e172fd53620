import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { randomRuns } from '../support/random-runs.js'
import { answer, answerAndClose, listen } from './raw-answers.js'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')

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
    await sendRawRequest([Buffer.from('first'), Buffer.alloc(20_000_000, 'x')], target)
    expect(arrivals[0]?.startsWith('first')).toBe(true)
    expect(arrivals.join('').length).toBeLessThan(20_000_000)
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

  it('has no body when it is to a HEAD, whatever its Content-Length', async () => {
    const target = await answer('HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 64\r\n\r\n')
    const pieces = ['HE', 'AD / HTTP/1.1\r\n\r\n'].map((piece) => Buffer.from(piece))
    expect(await sendRawRequest(pieces, target)).toMatchObject({ status: 405, body: Buffer.alloc(0) })
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
