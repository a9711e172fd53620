import { createHmac, randomUUID } from 'node:crypto'
import { signCallback } from 'countersign/signature'

export const path = '/hooks/transfers'

export const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: `https://partner.example.com${path}`,
  secret: 'a secret of forty characters, as they are',
}

/** Requests that differ in body, key and signature, as a receiver that remembers them would answer a repeat faster. */
export function makeRequests(kind, count) {
  const make = { callback, github }[kind]
  return Array.from({ length: count }, make)
}

function callback() {
  const body = makeBody()
  const timestamp = new Date().toUTCString()
  return request(body, {
    'X-Idempotency-Key': randomUUID(),
    'X-Event-Type': subscription.eventTypeName,
    'Authorization-Timestamp': timestamp,
    Authorization: signCallback({ ...subscription, timestamp, body }),
  })
}

function github() {
  const body = makeBody()
  return request(body, {
    'X-GitHub-Delivery': randomUUID(),
    'X-GitHub-Event': 'push',
    'X-GitHub-Hook-ID': '292430182',
    'X-Hub-Signature-256': `sha256=${createHmac('sha256', subscription.secret).update(body).digest('hex')}`,
  })
}

// 300 bytes.
function makeBody() {
  const fields = { Id: randomUUID(), Amount: '1250.00', Currency: 'EUR', BookedAt: '2026-11-03T09:14:27Z' }
  return JSON.stringify({ ...fields, Reference: 'x'.repeat(172) })
}

function request(body, headers) {
  const fields = {
    Host: 'partner.example.com',
    'User-Agent': 'service/1.0',
    Accept: '*/*',
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    ...headers,
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}
