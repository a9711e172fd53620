import { createHash, createHmac } from 'node:crypto'
import type { ReceivedRequest } from '../../src/diagnosis/index.js'

/** What a service signs, spelled out here so that no mistake of Countersign's own code can cancel itself out. */
export interface Signed {
  readonly secret: string | Buffer
  /** Path and query. */
  readonly target: string
  readonly host: string
  readonly timestamp: string
  readonly body: string | Buffer
}

export const CONFIGURED = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers?tenant=north&mode=live',
  secret: 's3cret~Text-with_dots.and-dashes-0123456',
}

export const SIGNED: Signed = {
  secret: CONFIGURED.secret,
  target: '/hooks/transfers?tenant=north&mode=live',
  host: 'partner.example.com',
  timestamp: 'Tue, 03 Nov 2026 09:14:27 GMT',
  body: '{"Id": "64b87e81-f9c7-4125-8565-b199c6e65b4f"}',
}

/** SERVICE 5.1, step by step. */
export function signature({ secret, target, host, timestamp, body }: Signed): Buffer {
  const bodyHash = createHash('sha256').update(body).digest('base64')
  return createHmac('sha256', secret).update(`${target}\n${timestamp};${host};${bodyHash}`).digest()
}

export type Headers = readonly (readonly [name: string, value: string])[]

export function headersOf(signed: Signed): Headers {
  return [
    ['Host', SIGNED.host],
    ['Content-Type', 'application/json'],
    ['X-Idempotency-Key', 'bd86bd30-8b00-4e52-ae53-ad028e4608b0'],
    ['X-Event-Type', CONFIGURED.eventTypeName],
    ['Authorization-Timestamp', signed.timestamp],
    ['Authorization', `HMAC-SHA256 Signature=${signature(signed).toString('base64')}`],
  ]
}

/** A request that was signed like this, and arrived with these changes. */
export function received(
  signed: Partial<Signed>,
  arrived: { path?: string; headers?: (headers: Headers) => Headers; body?: string | Buffer } = {},
): ReceivedRequest {
  const all = { ...SIGNED, ...signed }
  const { path = SIGNED.target, headers = (each) => each, body = all.body } = arrived
  return { path, rawHeaders: headers(headersOf(all)).flat(), body: Buffer.from(body) }
}
