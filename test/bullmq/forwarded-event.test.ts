import { forwardedEvent } from '../../src/bullmq.js'
import { forwardedId, toForwarded } from '../../src/bullmq/forwarded-callback.js'
import type { CallbackEvent } from '../../src/index.js'

const event: CallbackEvent = {
  type: 'a.b',
  payload: { Id: '1' },
  idempotencyKey: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  signedAt: new Date(1_000),
  receivedAt: new Date(2_000),
  rawBody: Buffer.from('{"Id":"1"}'),
  subscription: {
    id: 'tenant-1',
    eventTypeName: 'a.b',
    callbackUrl: 'https://partner.example.com/',
    description: 'a tenant',
  },
  secretFingerprint: '0123456789ab',
  byOperator: true,
}
const data = toForwarded(event)

it('an event is the same after it was JSON', () => {
  expect(forwardedEvent({ data: JSON.parse(JSON.stringify(data)) })).toStrictEqual(event)
})

it('a subscription leaves nothing in the job but its public fields', () => {
  const subscription = { ...event.subscription, secret: 'the secret text' }
  expect(JSON.stringify(toForwarded({ ...event, subscription }))).not.toContain('the secret text')
})

it('bytes that are no text are refused, and not replaced', () => {
  const rawBody = Buffer.from([0x7b, 0xff, 0x7d])
  expect(() => toForwarded({ ...event, rawBody })).toThrow(
    expect.objectContaining({ code: 'ERR_DO_NOT_RETRY' }),
  )
})

it.each([
  ['countersign', undefined],
  ['countersign', { type: 'a.b' }],
  ['countersign', null],
  ['countersign', 'text'],
  ['countersign', { ...data, countersign: '1' }],
  ['type', { ...data, type: undefined }],
  ['idempotencyKey', { ...data, idempotencyKey: 'no UUID' }],
  ['signedAt', { ...data, signedAt: 'yesterday' }],
  ['receivedAt', { ...data, receivedAt: 2_000 }],
  ['body', { ...data, body: '[]' }],
  ['body', { ...data, body: Buffer.from('{}') }],
  ['subscription.id', { ...data, subscription: undefined }],
  ['subscription.callbackUrl', { ...data, subscription: { ...data.subscription, callbackUrl: '' } }],
])('a job without a valid %s is refused for good, by a message without its data (%#)', (field, wrong) => {
  const refused = () => forwardedEvent({ data: wrong })
  // BullMQ looks at the name.
  expect(refused).toThrow(expect.objectContaining({ code: 'ERR_JOB_INVALID', name: 'UnrecoverableError' }))
  expect(refused).toThrow(`no valid ${JSON.stringify(field)}`)
})

it('a job of a newer version is refused, but not for good', () => {
  const refused = () => forwardedEvent({ data: { ...data, countersign: 2 } })
  expect(refused).toThrow(expect.objectContaining({ code: 'ERR_JOB_INVALID', name: 'CountersignError' }))
  expect(refused).toThrow(/version 2.*update countersign/)
})

it('the id of a callback is that of its key and subscription, and one that BullMQ admits', () => {
  // Never changed: ids of callbacks that were added before would not be recognised.
  expect(forwardedId(event)).toBe('f81d4fae-7dec-11d0-a765-00a0c91e6bf6-0a96abb33b07ff0e')
  const other = { ...event, subscription: { ...event.subscription, id: 'tenant-2' } }
  expect(forwardedId(other)).not.toBe(forwardedId(event))
})
