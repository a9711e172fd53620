import * as v from 'valibot'
import { z } from 'zod'
import type { CallbackEvent, ReceiverOptions } from '../../src/index.js'
import { deferred } from '../support/deferred.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'

const TYPE = subscription.eventTypeName
const ID = '64b87e81-f9c7-4125-8565-b199c6e65b4f'

async function deliver(schema: unknown, payload: unknown) {
  const schemas = { [TYPE]: schema } as NonNullable<ReceiverOptions['schemas']>
  const running = await runReceiver({ schemas, dependencyTimeoutMs: 50 })
  const { status } = await running.send(genuine({ payload }))
  return { ...running, status, payload: running.handled[0]?.payload }
}

describe.each([
  ['zod', z.object({ Id: z.uuid(), amount: z.number().optional() })],
  ['zod, async', z.object({ Id: z.uuid().refine(async () => true), amount: z.number().optional() })],
  ['valibot', v.object({ Id: v.pipe(v.string(), v.uuid()), amount: v.optional(v.number()) })],
  [
    'valibot, async',
    v.objectAsync({
      Id: v.pipeAsync(
        v.string(),
        v.checkAsync(async (text) => text === ID),
      ),
      amount: v.optional(v.number()),
    }),
  ],
])('a schema of %s', (_library, schema) => {
  it('lets a payload that fits through to the handler', async () => {
    const { status, payload } = await deliver(schema, { Id: ID, amount: 5 })
    expect(status).toBe(200)
    expect(payload).toEqual({ Id: ID, amount: 5 })
  })

  it('keeps one that does not fit from the handler', async () => {
    const { status, handled, outcomes } = await deliver(schema, { Id: 'none', amount: 'secret amount' })
    expect(status).toBe(500)
    expect(outcomes[0]?.code).toBe('ERR_PAYLOAD_INVALID')
    expect(handled).toEqual([])
  })

  it('leaves where a payload does not fit to the log, and what is there to nobody', async () => {
    const { log } = await deliver(schema, { Id: 'not a UUID', amount: 'secret amount' })
    expect(log.withCode('ERR_PAYLOAD_INVALID')[0]?.fields['err'].message).toMatch(
      /^the payload does not fit its schema at: (Id, amount|amount, Id)$/,
    )
    expect(log.text()).not.toMatch(/not a UUID|secret amount/)
  })
})

it('handlers are given what the schema made of the payload, beside the bytes as they were', async () => {
  const schema = z.object({ Id: z.string(), at: z.string().transform((text) => new Date(text)) })
  const { handled } = await deliver(schema, { Id: ID, at: '2026-11-03T09:14:27Z' })
  const [event] = handled as CallbackEvent<string, unknown>[]
  expect(event?.payload).toEqual({ Id: ID, at: new Date('2026-11-03T09:14:27Z') })
  expect(JSON.parse(event!.rawBody.toString())).toEqual({ Id: ID, at: '2026-11-03T09:14:27Z' })
})

it('a schema is not asked about other event types', async () => {
  const validate = jest.fn()
  const { send } = await runReceiver({ schemas: { 'accounts.closed': standard(validate) } })
  expect(await send(genuine())).toMatchObject({ status: 200 })
  expect(validate).not.toHaveBeenCalled()
})

it.each([
  [
    'throws',
    () => {
      throw new Error('mine')
    },
  ],
  ['rejects', () => Promise.reject(new Error('mine'))],
  ['hangs', () => new Promise<never>(() => {})],
])('a schema that %s does not have the callback lost', async (_what, validate) => {
  const { status, handled, send, outcomes } = await deliver(standard(validate), { Id: ID })
  expect(status).toBeGreaterThanOrEqual(500)
  expect(handled).toEqual([])
  expect(await send(genuine({ payload: { Id: ID } }))).not.toMatchObject({ status: 409 })
  expect(outcomes.map(({ code }) => code)).toEqual(['ERR_HANDLER_FAILED', 'ERR_HANDLER_FAILED'])
})

it('a callback whose payload did not fit may come again, and then fit', async () => {
  let fits = false
  const validate = (value: unknown) => (fits ? { value } : { issues: [{ message: 'no' }] })
  const attempts: number[] = []
  const running = await runReceiver({
    schemas: { [TYPE]: standard(validate) },
    handler: (_event, { attempt }) => attempts.push(attempt),
  })
  const callback = genuine()
  await running.send(callback)
  fits = true
  await running.send(callback)
  expect(running.outcomes.map(({ code }) => code)).toEqual(['ERR_PAYLOAD_INVALID', 'HANDLED'])
  expect(attempts).toEqual([2])
  expect(running.outcomes[0]?.error).toMatchObject({
    message: 'the payload does not fit its schema at: the payload itself',
  })
})

it('twins of a callback that is being validated are in progress', async () => {
  const validated = deferred()
  const schema = standard((value) => validated.promise.then(() => ({ value })))
  const { send, handled } = await runReceiver({ schemas: { [TYPE]: schema } })
  const callback = genuine()
  const first = send(callback)
  expect(await send(callback)).toMatchObject({ status: 409 })
  validated.resolve()
  expect(await first).toMatchObject({ status: 200 })
  expect(handled).toHaveLength(1)
})

function standard(validate: (value: unknown) => any) {
  return { '~standard': { version: 1 as const, vendor: 'test', validate } }
}
