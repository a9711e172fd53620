import type { ServerResponse } from 'node:http'
import express, { type ErrorRequestHandler } from 'express'
import { captureRawBody, createReceiver, verifySignature, type Outcome } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { collectedLog } from '../support/collected-log.js'
import { serve } from '../support/hosts.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'

/** Middleware that has code of its own run before the head is written, as the package on-headers does. That code throws. */
const throwsOnHead = (_request: unknown, response: ServerResponse, next: () => void): void => {
  const { writeHead } = response
  response.writeHead = () => {
    response.writeHead = writeHead
    throw new Error('of the application')
  }
  next()
}

const forged = () => genuine({ headers: { Authorization: FORGED } })

describe('a response whose methods throw', () => {
  it('closes the connection of receiver.middleware() and is named in the log, and the callback has its outcome', async () => {
    const log = collectedLog()
    const outcomes: Outcome['code'][] = []
    const receiver = createReceiver({ subscriptions: [subscription], logger: log, diagnosis: false })
      .onAny(() => {})
      .onOutcome(({ code }) => outcomes.push(code))
    const port = await serve(express().use(throwsOnHead, receiver.middleware()))
    const callback = genuine()
    for (const each of [forged(), callback, callback, forged()])
      await expect(sendRawRequest(each.toHttp(), { port })).rejects.toMatchObject({ code: 'ERR_NO_RESPONSE' })

    expect(outcomes).toEqual(['ERR_SIGNATURE_MISMATCH', 'HANDLED', 'DUPLICATE', 'ERR_SIGNATURE_MISMATCH'])
    const idempotencyKey = callback.headers['X-Idempotency-Key']
    expect(log.withCode('ERR_ANSWER_FAILED')).toMatchObject([
      // Anyone can send them: only the first is named.
      { level: 'error', fields: { outcome: 'refused', err: { message: 'of the application' } } },
      { level: 'error', fields: { outcome: 'handled', idempotencyKey } },
      { level: 'error', fields: { outcome: 'duplicate', idempotencyKey } },
    ])
  })

  it.each([
    ['captureRawBody()', () => captureRawBody({ logger: false })],
    ['verifySignature()', () => verifySignature({ subscriptions: [subscription], logger: false })],
  ])('is passed on as an error by %s', async (_which, create) => {
    const messages: unknown[] = []
    const onError: ErrorRequestHandler = (error: Error, _request, response, _next) => {
      messages.push(error.message)
      response.status(500).end()
    }
    const port = await serve(express().use(throwsOnHead, create(), onError))
    const refused = Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    expect(await sendRawRequest(refused, { port })).toMatchObject({ status: 500 })
    expect(messages).toEqual(['of the application'])
  })
})
