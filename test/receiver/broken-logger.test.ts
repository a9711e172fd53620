import express from 'express'
import { createReceiver, verifySignature, type Logger } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { withHeader } from '../support/http-bytes.js'
import { away, interposed } from '../support/interposed-inbox.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { serve } from '../support/hosts.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'

const subscriptions = [subscription]

const fail = (): never => {
  throw new Error('the disk is full')
}
const forged = () => withHeader(genuine().toHttp(), 'Authorization', FORGED)
const reject = async (): Promise<void> => fail()

describe.each([
  ['throws', { debug: fail, info: fail, warn: fail, error: fail }],
  ['rejects', { debug: reject, info: reject, warn: reject, error: reject }],
] satisfies [string, Logger][])('a logger that %s', (_what, logger) => {
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown) => unhandled.push(error)
  beforeAll(() => process.on('unhandledRejection', onUnhandled))
  afterAll(() => {
    process.off('unhandledRejection', onUnhandled)
    expect(unhandled).toEqual([])
  })

  it('does not keep a callback from its answer, nor its outcome from those who want to know', async () => {
    const outcomes: string[] = []
    const receiver = createReceiver({ subscriptions, logger })
      .onAny(() => {})
      .onOutcome(({ name }) => outcomes.push(name))
    const port = await serve(receiver.requestListener())
    const statuses = []
    for (const request of [genuine().toHttp(), forged()]) {
      statuses.push((await sendRawRequest(request, { port })).status)
    }
    expect(statuses).toEqual([200, 401])
    expect(outcomes).toEqual(['handled', 'refused'])
  })

  it('does not make verifySignature() go on to an error handler once it has answered', async () => {
    const errors: unknown[] = []
    const app = express().post('/hooks/transfers', verifySignature({ subscriptions, logger }))
    app.use((error: unknown, _request: unknown, _response: unknown, _next: unknown) => errors.push(error))
    const answer = await sendRawRequest(forged(), { port: await serve(app) })
    expect(answer).toMatchObject({ status: 401 })
    expect(errors).toEqual([])
  })

  it('does not end the work on the inbox, whatever there is to be logged', async () => {
    const { inbox, set } = interposed(new MemoryInbox())
    const failing = { claim: 2, finish: 2 }
    set('claim', (call) => (failing.claim-- > 0 ? away() : call()))
    set('settle', (call) => (failing.finish-- > 0 ? away() : call()))
    let calls = 0
    const handler = () => (++calls === 1 ? fail() : undefined)
    const { send, becomes } = await runInboxReceiver({ inbox, handler, logger, retryDelayMs: 1 })
    expect(await send(genuine())).toMatchObject({ status: 200 })
    expect(await becomes('1', 'handled')).toMatchObject({ attempts: 2 })
    expect(failing.finish).toBeLessThan(0)
    expect(failing.claim).toBeLessThan(0)
  })
})
