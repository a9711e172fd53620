import { hideCredentials } from '../../src/capture/hidden-credentials.js'
import {
  explainCallback,
  type Cause,
  type ExplainOptions,
  type ReceivedRequest,
} from '../../src/diagnosis/index.js'
import { CONFIGURED, received, signature, SIGNED, type Headers } from './signed-elsewhere.js'

/** As a capture has it: with salted digests in place of signatures. */
function captured(request: ReceivedRequest, more: Partial<ReceivedRequest> = {}): ReceivedRequest {
  const { rawHeaders = [] } = request
  const hidden = rawHeaders.map((text, at) =>
    at % 2 === 0 ? text : hideCredentials(rawHeaders[at - 1]!, text),
  )
  return { ...request, rawHeaders: hidden, ...more }
}

function explain(request: ReceivedRequest, options: Partial<ExplainOptions> = {}) {
  return explainCallback(request, { subscriptions: [CONFIGURED], maxMs: 10_000, ...options })
}

const withKey = (key: string) => (headers: Headers) =>
  headers.map(([name, value]) => [name, name === 'X-Idempotency-Key' ? key : value] as const)

const SIGNED_AT = Date.parse(SIGNED.timestamp)
const HOUR_MS = 3_600_000

describe('a capture of a valid callback, without its signature', () => {
  it.each<[string, number, Cause, 'proven' | 'likely']>([
    ['late', 30 * HOUR_MS, 'delivery-late', 'likely'],
    ['early', -HOUR_MS, 'clock-skew', 'proven'],
  ])('that arrived %s is named', (_, laterMs, cause, certainty) => {
    const receivedAt = new Date(SIGNED_AT + laterMs)
    const { verified, findings } = explain(captured(received({}), { receivedAt }))
    expect(verified).toBe(true)
    expect(findings).toMatchObject([{ cause, certainty, details: { differenceMs: laterMs } }])
  })

  it('has a wrong clock if all differ by the same time', () => {
    const late = (timestamp: string) =>
      captured(received({ timestamp }), { receivedAt: new Date(Date.parse(timestamp) + 30 * HOUR_MS) })
    const other = late('Tue, 03 Nov 2026 10:14:27 GMT')
    const { findings } = explain(late(SIGNED.timestamp), { otherRequests: [other] })
    expect(findings.map(({ cause }) => cause)).toEqual(['clock-skew', 'delivery-late'])
    const forged = received({ secret: 'another-secret-0123456789' })
    const ofForged = explain(late(SIGNED.timestamp), { otherRequests: [captured(forged)] })
    expect(ofForged.findings.map(({ cause }) => cause)).toEqual(['delivery-late'])
  })

  it('is a replay if another one has the same signature under another key, each with a salt of its own', () => {
    const again = captured(received({}, { headers: withKey('00000000-8b00-4e52-ae53-ad028e4608b0') }))
    const { findings } = explain(captured(received({})), { otherRequests: [again] })
    expect(findings).toMatchObject([{ cause: 'replayed', certainty: 'proven' }])
    expect(explain(captured(received({})), { otherRequests: [captured(received({}))] }).findings).toEqual([])
  })
})

const renamed = (from: string, to: string) => (headers: Headers) =>
  headers.map(([name, value]) => [name === from ? to : name, value] as const)
const written = (value: string) => (headers: Headers) =>
  headers.map(([name, old]) => [name, name === 'Authorization' ? value : old] as const)
const added = (name: string, value: string) => (headers: Headers) => [...headers, [name, value] as const]

describe('a request that was refused by its headers, so that its body was not read', () => {
  const bytes = signature(SIGNED)
  it.each<[string, Cause, (headers: Headers) => Headers]>([
    ['hexadecimal digits', 'authorization-hex', written(`HMAC-SHA256 Signature=${bytes.toString('hex')}`)],
    [
      'URL-safe Base64',
      'authorization-url-safe-base64',
      written(`HMAC-SHA256 Signature=${Buffer.alloc(32, 0xfb).toString('base64url')}`),
    ],
    ['another scheme', 'authorization-scheme', written(`SharedKey ${bytes.toString('base64')}`)],
    ['no signature', 'authorization-scheme', written('HMAC-SHA256')],
    [
      'credentials of an edge',
      'authorization-replaced',
      written(
        `AWS4-HMAC-SHA256 Credential=AKIA/20261103/eu/s3/aws4_request, SignedHeaders=host, Signature=${bytes.toString('hex')}`,
      ),
    ],
    ['a token of the gateway', 'authorization-replaced', written(`OAuth ${'a1'.repeat(20)}`)],
    [
      'a signature of another algorithm',
      'signature-algorithm',
      written(`HMAC-SHA512 Signature=${Buffer.alloc(64, 7).toString('base64')}`),
    ],
    [
      'a signature that was cut',
      'authorization-scheme',
      written(`HMAC-SHA256 Signature=${bytes.toString('base64').slice(0, 30)}`),
    ],
    ['another name', 'headers-renamed', renamed('Authorization', 'X-Original-Authorization')],
    [
      'a timestamp of another name',
      'headers-renamed',
      renamed('Authorization-Timestamp', 'X-Authorization-Timestamp'),
    ],
    [
      'no name at all',
      'authorization-stripped',
      (headers) => headers.filter(([name]) => name !== 'Authorization'),
    ],
    ['compressed', 'body-compressed', added('Content-Encoding', 'gzip')],
  ])('%s', (_, cause, headers) => {
    const request = received({}, { headers, body: '' })
    for (const each of [request, captured(request)]) {
      const explanation = explain({ ...each, bodyRead: false })
      expect(explanation).toMatchObject({ verified: false, hmacs: 0 })
      expect(explanation.findings[0]).toMatchObject({ cause, certainty: 'likely' })
    }
  })

  it('says nothing of a body that is not known', () => {
    const request = received({}, { body: '', headers: added('Content-Length', '59') })
    const { findings } = explain({ ...request, bodyRead: false })
    expect(findings).toMatchObject([{ cause: 'forged-or-unknown', details: { ruledOut: [] } }])
    expect(explain(request).findings[0]).toMatchObject({ cause: 'body-empty' })
  })
})
