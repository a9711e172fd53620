import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { explainCallback, type Cause } from '../../src/diagnosis/index.js'
import { CONFIGURED, received, SIGNED } from './signed-elsewhere.js'
import { anyText } from '../support/any-text.js'
import { randomRuns } from '../support/random-runs.js'

const secrets = fc.string({
  unit: fc.constantFrom(...Array.from('abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMN23456789-_.~')),
  minLength: 16,
  maxLength: 40,
})

/** Each change of a secret, and the causes that are true of it. Some texts make two of them equal. */
const ofSecret: readonly (readonly [Cause, (secret: string) => string])[] = [
  ['secret-is-base64', (secret) => Buffer.from(secret).toString('base64')],
  ['secret-white-space', (secret) => `${secret}\n`],
  ['secret-white-space', (secret) => `  ${secret}`],
  ['secret-quotes', (secret) => `"${secret}"`],
  ['secret-hex-or-url-form', (secret) => Buffer.from(secret).toString('hex')],
]

/** Each change of the URL that is signed. */
const ofUrl: readonly (readonly [Cause, { host?: string; target?: string }])[] = [
  ['url-scheme-or-port', { host: `${SIGNED.host}:443` }],
  ['url-scheme-or-port', { host: `${SIGNED.host}:8443` }],
  ['url-host', { host: `www.${SIGNED.host}` }],
  ['url-trailing-slash', { target: SIGNED.target.replace('?', '/?') }],
  ['url-path', { target: SIGNED.target.replace('/hooks', '') }],
  ['url-query', { target: '/hooks/transfers' }],
  ['url-query', { target: '/hooks/transfers?mode=live&tenant=north' }],
  ['url-fragment', { target: `${SIGNED.target}#` }],
]

const json = fc
  .record({
    Id: fc.uuid(),
    name: fc.string({ unit: 'grapheme' }),
    count: fc.integer(),
    tags: fc.array(fc.string(), { minLength: 1 }),
  })
  .filter(({ name }) => name.isWellFormed())

const ofBody: readonly (readonly [Cause, (value: unknown) => string])[] = [
  ['body-reserialised', (value) => JSON.stringify(value, null, 2)],
  ['body-reserialised', (value) => JSON.stringify(value, null, '\t')],
  ['body-trimmed', (value) => `${JSON.stringify(value)}\n`],
  ['body-trimmed', (value) => `\ufeff${JSON.stringify(value)}`],
]

function explain(request: Parameters<typeof explainCallback>[0], secret = CONFIGURED.secret) {
  return explainCallback(request, { subscriptions: [{ ...CONFIGURED, secret }], maxMs: 10_000 }).findings
}

test('any single change of a secret is named', () => {
  fc.assert(
    fc.property(secrets, fc.constantFrom(...ofSecret), (secret, [cause, change]) => {
      const findings = explain(received({ secret }), change(secret))
      expect(findings.map((each) => [each.certainty, each.cause, each.togetherWith])).toContainEqual([
        'proven',
        cause,
        undefined,
      ])
    }),
    { numRuns: randomRuns(60) },
  )
})

test('any single change of the URL is named, whatever is signed with it', () => {
  fc.assert(
    fc.property(secrets, fc.constantFrom(...ofUrl), json, (secret, [cause, change], value) => {
      const findings = explain(
        received({ ...change, secret, body: JSON.stringify(value) }, { path: '/' }),
        secret,
      )
      expect(findings.map((each) => [each.certainty, each.cause])).toContainEqual(['proven', cause])
    }),
    { numRuns: randomRuns(40) },
  )
})

test('any single change of a body is named', () => {
  fc.assert(
    fc.property(json, fc.constantFrom(...ofBody), (value, [cause, write]) => {
      const findings = explain(received({ body: write(value) }, { body: JSON.stringify(value) }))
      expect(findings.map((each) => [each.certainty, each.cause])).toContainEqual(['proven', cause])
    }),
    { numRuns: randomRuns(40) },
  )
})

test('any other zone of the timestamp is named', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), (hours) => {
      const local = new Date(Date.parse(SIGNED.timestamp) + hours * 3_600_000).toUTCString()
      const timestamp = local.replace('GMT', `+${String(hours).padStart(2, '0')}00`)
      const [first] = explain(
        received(
          { timestamp },
          {
            headers: (headers) =>
              headers.map(([name, value]) => [name, value === timestamp ? SIGNED.timestamp : value]),
          },
        ),
      )
      expect(first).toMatchObject({ cause: 'timestamp-reformatted', certainty: 'proven' })
    }),
    { numRuns: randomRuns(12) },
  )
})

test('no random forgery is proven, whatever its headers, path and body', () => {
  const text = fc.string({ maxLength: 60 })
  const header = fc.tuple(
    fc.constantFrom(
      'Authorization',
      'Authorization-Timestamp',
      'Host',
      'X-Forwarded-Host',
      'X-Original-URL',
      'X-Original-Authorization',
      'Content-Length',
      'Content-Encoding',
      'Forwarded',
    ),
    text,
  )
  // Not fc.webPath(), which takes a second to be built.
  const segment = anyText({ maxLength: 12 }).map((each) =>
    encodeURIComponent(each).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent),
  )
  const paths = fc.array(segment).map((segments) => segments.map((each) => `/${each}`).join(''))
  const signatures = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .chain((bytes) =>
      fc.constantFrom(
        `HMAC-SHA256 Signature=${Buffer.from(bytes).toString('base64')}`,
        `HMAC-SHA256 Signature=${Buffer.from(bytes).toString('hex')}`,
        `Signature=${Buffer.from(bytes).toString('base64url')}`,
      ),
    )
  fc.assert(
    fc.property(
      paths,
      fc.array(header, { maxLength: 6 }),
      signatures,
      fc.oneof(fc.json(), text, fc.base64String()),
      (path, more, authorization, body) => {
        const rawHeaders = [
          'Authorization',
          authorization,
          'Authorization-Timestamp',
          SIGNED.timestamp,
          ...more.flat(),
        ]
        const { findings, verified, hmacs } = explainCallback(
          { path: path || '/', rawHeaders, body: Buffer.from(body) },
          { subscriptions: [CONFIGURED], maxMs: 10_000 },
        )
        expect(verified).toBe(false)
        expect(hmacs).toBeLessThanOrEqual(2_000)
        expect(findings.at(-1)?.cause).toBe('forged-or-unknown')
        expect(findings.map(({ certainty }) => certainty)).not.toContain('proven')
      },
    ),
    { numRuns: randomRuns(60) },
  )
})

test('no one can sign with what a search has tried, without the secret', () => {
  // Keys that are known to everybody: nothing, the URL, the hash of the body.
  for (const secret of [
    CONFIGURED.callbackUrl,
    createHash('sha256').update(SIGNED.body).digest('base64'),
    'null',
    'undefined',
  ]) {
    const findings = explain(received({ secret }))
    expect(findings.map(({ certainty }) => certainty)).not.toContain('proven')
  }
})
