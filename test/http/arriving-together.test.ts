import { AsyncLocalStorage } from 'node:async_hooks'
import express from 'express'
import { createReceiver } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { serve } from '../support/hosts.js'
import { genuine, subscription } from '../support/running-receiver.js'

const subscriptions = [subscription]

afterEach(() => jest.useRealTimers())

it('keeps apart the asynchronous contexts of callbacks that arrive together', async () => {
  const context = new AsyncLocalStorage<string>()
  const seen: [key: string, context: string | undefined][] = []
  const receiver = createReceiver({ subscriptions }).on(subscription.eventTypeName, (event) => {
    seen.push([event.idempotencyKey, context.getStore()])
  })
  const app = express()
  app.use((request, _response, next) => context.run(request.get('X-Idempotency-Key')!, next))
  app.post('/hooks/transfers', receiver.middleware())
  const port = await serve(app)

  const answers = Array.from({ length: 100 }, () => sendRawRequest(genuine().toHttp(), { port }))
  expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true)
  expect(seen).toHaveLength(100)
  expect(seen.filter(([key, context]) => key !== context)).toEqual([])
})

it('answers while a test has its timers faked', async () => {
  const receiver = createReceiver({ subscriptions }).onAny(() => {})
  const port = await serve(receiver.requestListener())
  jest.useFakeTimers()
  expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 200 })
})
