import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { signedCallback } from 'countersign/testing'
import { isBooked } from './bookings.js'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
let handler

before(async () => {
  process.env.CALLBACK_URL = subscription.callbackUrl
  process.env.CALLBACK_SECRET = subscription.secret
  ;({ handler } = await import('./handler.js'))
})

/** Format 1.0 keeps the names of headers as they were sent. */
function version1({ method, path, headers, body }) {
  const multiValueHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value].flat()]),
  )
  const event = { version: '1.0', httpMethod: method, path, headers, multiValueHeaders }
  return { ...event, body: body.toString(), isBase64Encoded: false }
}

/** Format 2.0 has names in lower case, and joins repeated headers. */
function version2({ method, path, headers, body }) {
  const joined = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)])
  const event = { version: '2.0', rawPath: path, rawQueryString: '', headers: Object.fromEntries(joined) }
  return {
    ...event,
    requestContext: { http: { method, path } },
    body: body.toString('base64'),
    isBase64Encoded: true,
  }
}

for (const eventOf of [version1, version2]) {
  test(`books the transfer of a genuine callback, ${eventOf.name}`, async () => {
    const Id = randomUUID()
    const callback = signedCallback({ subscription, payload: { Id, reason: 'Büromöbel' } })
    assert.deepEqual(await handler(eventOf(callback)), { statusCode: 200, headers: {}, body: '' })
    assert.equal(isBooked(Id), true)
  })

  test(`refuses a forged callback, a GET and a request without a body, ${eventOf.name}`, async () => {
    const forger = { ...subscription, secret: 'a guess' }
    const callback = signedCallback({ subscription: forger, payload: { Id: randomUUID() } })
    const event = eventOf(callback)
    assert.equal((await handler(event)).statusCode, 401)
    assert.equal((await handler(eventOf({ ...callback, method: 'GET' }))).statusCode, 405)
    assert.equal((await handler({ ...event, body: null, isBase64Encoded: false })).statusCode, 401)
  })
}

test('refuses a callback whose signature comes twice', async () => {
  const callback = signedCallback({ subscription, payload: { Id: randomUUID() } })
  const { Authorization } = callback.headers
  const headers = { ...callback.headers, Authorization: [Authorization, Authorization] }
  assert.equal((await handler(version1({ ...callback, headers }))).statusCode, 401)
  assert.equal((await handler(version2({ ...callback, headers }))).statusCode, 401)
})
