import { MemoryIdempotencyStore, type ClaimResult, type IdempotencyStore } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { genuine, runReceiver } from '../support/running-receiver.js'

const fails = (): never => {
  throw new Error('away')
}

function storeThat(parts: { claim?: () => never; complete?: () => never; release?: () => never }) {
  const inner = new MemoryIdempotencyStore()
  return {
    retentionMs: inner.retentionMs,
    claim(request) {
      parts.claim?.()
      const result = inner.claim(request) as ClaimResult
      return result.state === 'claimed' ? { ...result, claim: { ...result.claim, ...parts } } : result
    },
  } satisfies IdempotencyStore
}

it('has a callback handled once by a store and a handler that return no promise', async () => {
  const handler = jest.fn()
  const { port } = await runReceiver({ store: storeThat({}), handler })
  const request = genuine().toHttp()
  expect(await sendRawRequest(request, { port })).toMatchObject({ status: 200 })
  expect(await sendRawRequest(request, { port })).toMatchObject({ status: 200 })
  expect(handler).toHaveBeenCalledTimes(1)
})

it.each(['claim', 'complete'])('answers 503 if the method %s of the store throws', async (method) => {
  const { port, outcomes } = await runReceiver({ store: storeThat({ [method]: fails }) })
  expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 503 })
  expect(outcomes).toMatchObject([{ code: 'ERR_STORE_UNAVAILABLE', error: new Error('away') }])
})

it('answers 500 for a handler that throws, although the claim cannot be released', async () => {
  const { port, outcomes } = await runReceiver({ store: storeThat({ release: fails }), handler: fails })
  expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 500 })
  expect(outcomes).toMatchObject([{ code: 'ERR_HANDLER_FAILED' }])
})
