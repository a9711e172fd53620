import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { createReceiver, type OutcomeCode } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { serve } from '../support/hosts.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'

type Adapt = (headers: IncomingHttpHeaders) => Record<string, string | string[] | undefined>

/** What becomes of a callback behind an adapter, as those for cloud functions are: the body kept, and headers by name only. */
async function outcomeOf(rawHeaders: string[] | undefined, adapt: Adapt) {
  const codes: OutcomeCode[] = []
  const receiver = createReceiver({ subscriptions: [subscription], logger: false })
  receiver.onAny(() => {}).onOutcome(({ code }) => codes.push(code))
  const listener = receiver.requestListener()
  const port = await serve(async (request, response) => {
    const rawBody = await buffer(request)
    Object.assign(request, { headers: adapt(request.headers), rawHeaders, rawBody })
    listener(request, response)
  })
  const { status } = await sendRawRequest(genuine().toHttp(), { port })
  return { status, code: codes[0] }
}

describe.each([
  ['no rawHeaders', undefined],
  ['empty rawHeaders', []],
])('a request that has headers, and %s,', (_how, rawHeaders) => {
  it('is taken', async () => {
    const adapt: Adapt = (headers) => ({ ...headers, 'x-other': undefined })
    expect(await outcomeOf(rawHeaders, adapt)).toEqual({ status: 200, code: 'HANDLED' })
  })

  it('is taken with each header in a list of one', async () => {
    const adapt: Adapt = (headers) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat() as string[]]))
    expect(await outcomeOf(rawHeaders, adapt)).toEqual({ status: 200, code: 'HANDLED' })
  })

  it.each([
    ['authorization', 401, 'ERR_AUTHORIZATION_REPEATED'],
    ['authorization-timestamp', 401, 'ERR_TIMESTAMP_REPEATED'],
    ['x-idempotency-key', 400, 'ERR_IDEMPOTENCY_KEY_MISSING'],
    ['x-event-type', 400, 'ERR_EVENT_TYPE_MISSING'],
  ])('is refused with two of %s in a list: %i, %s', async (name, status, code) => {
    const adapt: Adapt = (headers) => ({ ...headers, [name]: [headers[name] as string, 'other'] })
    expect(await outcomeOf(rawHeaders, adapt)).toEqual({ status, code })
  })
})

describe('a request with a number in rawHeaders, as @codegenie/serverless-express makes the Content-Length,', () => {
  const run = async (headers: Record<string, string | null>) => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false }).onAny(() => {})
    const { body, method, path, headers: sent } = genuine({ headers })
    const rawHeaders = ['content-length', body.length as unknown as string, ...Object.entries(sent).flat()]
    const { status, outcome } = await receiver.receive({ method, path, rawHeaders, body })
    return { status, code: outcome.code }
  }

  it.each([
    ['is taken', {}, 200, 'HANDLED'],
    ['is refused with a forged signature', { Authorization: FORGED }, 401, 'ERR_SIGNATURE_MISMATCH'],
    ['is refused without a signature', { Authorization: null }, 401, 'ERR_AUTHORIZATION_MISSING'],
  ])('%s', async (_what, headers, status, code) => {
    expect(await run(headers)).toEqual({ status, code })
  })
})
