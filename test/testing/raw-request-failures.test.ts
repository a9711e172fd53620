import timers from 'node:timers/promises'
import fc from 'fast-check'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { randomRuns } from '../support/random-runs.js'
import { freePort } from '../support/server-program.js'
import { answer, answerAndClose, listen } from './raw-answers.js'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')

afterEach(() => jest.restoreAllMocks())

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
    const target = { port: await freePort() }
    await expect(sendRawRequest(REQUEST, target)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('is a port where nobody listens, with the code of the system, while a test has its timers faked', async () => {
    const target = { port: await freePort() }
    jest.spyOn(timers, 'setImmediate').mockReturnValue(new Promise<never>(() => {}))
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
