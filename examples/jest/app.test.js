'use strict'
const { randomUUID } = require('node:crypto')
const { once } = require('node:events')
const { startServiceSimulator } = require('countersign/simulator')
const { createApp } = require('./app.js')

let service
let receiver
let server
let bookings

beforeEach(async () => {
  service = await startServiceSimulator()
  const subscription = service.subscribe({
    eventTypeName: 'transfers.book-completed',
    callbackUrl: 'https://partner.example.com/hooks/transfers',
  })
  // Without the unique key of the real one, so that nothing booked twice stays unseen.
  const rows = []
  bookings = { rows, add: jest.fn(async (booking) => void rows.push(booking)) }

  const { eventTypeName, callbackUrl, secret } = subscription
  const created = createApp({ subscriptions: [{ eventTypeName, callbackUrl, secret }], bookings })
  receiver = created.receiver
  await receiver.start()
  server = created.app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  service.deliverTo(`http://127.0.0.1:${server.address().port}`)
})

afterEach(async () => {
  await service.close()
  await receiver.stop()
  const closed = once(server, 'close')
  server.close()
  await closed
})

test('books the transfer that was completed', async () => {
  const Id = randomUUID()
  const delivery = await service.deliver({ payload: { Id } })

  expect(statuses(delivery)).toEqual([200])
  expect(bookings.rows).toEqual([{ transfer: Id, idempotencyKey: delivery.idempotencyKey }])
})

test('books it once, however often its callback comes', async () => {
  await service.deliverMany([{ fault: 'repeat' }, { fault: 'repeat-signed-anew' }, { fault: 'twins' }])

  expect(bookings.rows).toHaveLength(3)
  service.assertNothingTwice(bookings.rows)
  service.assertNothingLost(bookings.rows)
})

test.each(['wrong-secret', 'unsigned', 'tampered', 'truncated', 'rewritten-type'])(
  'refuses what is forged or altered: %s',
  async (fault) => {
    const delivery = await service.deliver({ fault })

    expect(statuses(delivery)).toEqual([401])
    expect(bookings.rows).toEqual([])
    service.assertNothingForged(bookings.rows)
  },
)

test('says that it has failed while the database is down, and books what is sent again', async () => {
  bookings.add.mockRejectedValueOnce(new Error('the database is down'))
  const delivery = await service.deliver({ retry: { delaysMs: [0], timestamp: 'first' } })

  expect(statuses(delivery)).toEqual([500, 200])
  expect(bookings.rows).toHaveLength(1)
})

function statuses(delivery) {
  return delivery.attempts.map(({ status }) => status)
}
