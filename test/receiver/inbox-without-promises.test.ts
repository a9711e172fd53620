import { MemoryInbox } from '../support/whole-inbox.js'
import type { AddResult } from '../../src/inbox/engine.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { interposed } from '../support/interposed-inbox.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine } from '../support/running-receiver.js'

async function runWith(add: () => unknown) {
  const { inbox, set } = interposed(new MemoryInbox())
  set('add', add as () => Promise<AddResult>)
  return runInboxReceiver({ inbox })
}

it('answers 503 if the method add of the inbox throws, and waits for nothing afterwards', async () => {
  const { port, outcomes, receiver } = await runWith(() => {
    throw new Error('away')
  })
  expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 503 })
  expect(outcomes).toMatchObject([{ code: 'ERR_INBOX_UNAVAILABLE', error: new Error('away') }])
  await receiver.idle()
})

it('answers 200 if the method add of the inbox returns its result and no promise', async () => {
  const { port, receiver } = await runWith(() => ({ result: 'stored', id: '1' }))
  expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 200 })
  await receiver.idle()
})

it.each(['undefined', 'a promise of undefined'])('answers 503 if it returns %s', async (returned) => {
  const { port, outcomes } = await runWith(() => (returned === 'undefined' ? undefined : Promise.resolve()))
  expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 503 })
  expect(outcomes).toMatchObject([{ code: 'ERR_INBOX_UNAVAILABLE' }])
})
