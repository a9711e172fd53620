import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { callbackHeaders } from '../../src/http/callback-headers.js'
import { captureRawBody, createReceiver, verifySignature, type OutcomeCode } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { collectedLog } from '../support/collected-log.js'
import { HOST_NAMES, serve } from '../support/hosts.js'
import { withLines } from '../support/http-bytes.js'
import { FORGED, genuine, runReceiver, subscription } from '../support/running-receiver.js'

const subscriptions = [subscription]

const LOOKED_AT = [
  ['Authorization', 'authorization'],
  ['Authorization-Timestamp', 'timestamp'],
  ['X-Idempotency-Key', 'idempotencyKey'],
  ['X-Event-Type', 'eventType'],
  ['Content-Encoding', 'contentEncoding'],
  ['Content-Length', 'contentLength'],
] as const

const times = <Value>(count: number, value: Value): Value[] => Array.from({ length: count }, () => value)

// Newer versions of Node refuse such a head themselves; older ones drop the lines beyond the limit.
const REFUSED_BEYOND_THE_LIMIT = [['ERR_HEADERS_TOO_MANY'], []]

describe('a header that is repeated a thousand times', () => {
  it.each(LOOKED_AT)('leaves two values, so that each repeat costs the same: %s', (name, field) => {
    const raw = { rawHeaders: times(1_000, [name, 'a']).flat() } as IncomingMessage
    expect(callbackHeaders(raw)[field]).toEqual(['a', 'a'])
    const byName = { headers: { [name.toLowerCase()]: times(1_000, 'a') } } as unknown as IncomingMessage
    expect(callbackHeaders(byName)[field]).toEqual(['a', 'a'])
  })
})

describe.each(HOST_NAMES)('in %s', (hostName) => {
  it.each([
    ['Authorization', 401, 'ERR_AUTHORIZATION_REPEATED'],
    ['Authorization-Timestamp', 401, 'ERR_TIMESTAMP_REPEATED'],
    ['X-Idempotency-Key', 400, 'ERR_IDEMPOTENCY_KEY_MISSING'],
    ['X-Event-Type', 400, 'ERR_EVENT_TYPE_MISSING'],
    ['Content-Encoding', 415, 'ERR_BODY_ENCODED'],
  ])('%s five hundred times: %i, %s', async (name, status, code) => {
    const { send, outcomes } = await runReceiver({ in: hostName })
    const request = withLines(genuine().toHttp(), ...times(500, `${name}: a`))
    expect(await send(request)).toMatchObject({ status })
    expect(outcomes.map((outcome) => outcome.code)).toEqual([code])
  })

  it('a second Authorization behind more lines than Node keeps: 431', async () => {
    const { send, outcomes, handled } = await runReceiver({ in: hostName })
    const request = withLines(genuine().toHttp(), ...times(2_000, 'a:'), `Authorization: ${FORGED}`)
    expect(await send(request)).toMatchObject({ status: 431 })
    expect(REFUSED_BEYOND_THE_LIMIT).toContainEqual(outcomes.map(({ code }) => code))
    expect(handled).toEqual([])
  })

  it('takes nine hundred lines, of which Node drops none', async () => {
    const { send } = await runReceiver({ in: hostName })
    expect(await send(withLines(genuine().toHttp(), ...times(900, 'a:')))).toMatchObject({ status: 200 })
  })
})

describe('on a server with a maxHeadersCount of its own', () => {
  async function outcomeOf(maxHeadersCount: number, request: Uint8Array) {
    const codes: OutcomeCode[] = []
    const receiver = createReceiver({ subscriptions, logger: false }).onAny(() => {})
    receiver.onOutcome(({ code }) => codes.push(code))
    const server = createServer(receiver.requestListener())
    server.maxHeadersCount = maxHeadersCount
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { status } = await sendRawRequest(request, { port: (server.address() as AddressInfo).port })
      return { status, codes }
    } finally {
      server.close()
    }
  }
  const withOthers = (count: number) =>
    withLines(genuine().toHttp(), ...times(count, 'a:'), `Authorization: ${FORGED}`)

  it('refuses what reaches it', async () => {
    const { status, codes } = await outcomeOf(50, withOthers(100))
    expect(status).toBe(431)
    expect(REFUSED_BEYOND_THE_LIMIT).toContainEqual(codes)
  })

  it('takes what stays below it', async () => {
    expect(await outcomeOf(50, genuine().toHttp())).toEqual({ status: 200, codes: ['HANDLED'] })
  })

  it.each([0, 5_000])('sees every line where it is %i', async (maxHeadersCount) => {
    expect(await outcomeOf(maxHeadersCount, withOthers(2_000))).toEqual({
      status: 401,
      codes: ['ERR_AUTHORIZATION_REPEATED'],
    })
  })
})

it.each([
  ['captureRawBody()', captureRawBody({ logger: collectedLog() })],
  ['verifySignature()', verifySignature({ subscriptions, logger: collectedLog() })],
])('%s refuses more lines than Node keeps', async (_which, middleware) => {
  const port = await serve(express().use(middleware, (_request, response) => void response.end()))
  const request = withLines(genuine().toHttp(), ...times(2_000, 'a:'), `Authorization: ${FORGED}`)
  expect(await sendRawRequest(request, { port })).toMatchObject({ status: 431 })
})
