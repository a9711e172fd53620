import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hideCredentials } from '../../src/capture/hidden-credentials.js'
import { loadRecordedRequests } from '../../src/testing/recorded-requests.js'
import { FORGED, genuine, runReceiver } from '../support/running-receiver.js'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'capture-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const run = () => runReceiver({ capture: { folder } })

test.each([
  ['Authorization', 'Bearer eyJhbGciOi.short', 'eyJhbGciOi'],
  ['Authorization', 'Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
  ['X-Original-Authorization', `HMAC-SHA256 Signature=${'Q'.repeat(43)}=`, 'QQQQQQQQ'],
  ['Cookie', 'session=abc123', 'abc123'],
  ['X-Sig', `${'Q'.repeat(43)}=`, 'QQQQQQQQ'],
  ['X-Api-Key', 'key-123', 'key-123'],
  ['Ocp-Apim-Subscription-Key', 'key-123', 'key-123'],
  ['X-Functions-Key', 'key-123', 'key-123'],
  ['X-Goog-Iap-Jwt-Assertion', 'eyJ.payload', 'eyJ.payload'],
  ['X-Amzn-Oidc-Data', 'eyJ.payload', 'eyJ.payload'],
  ['X-User', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.short', 'eyJzdWIiOiIxIn0'],
  ['X-Csrf', 'tok-123', 'tok-123'],
  ['X-Amz-Security-Token', 't-1', 't-1'],
  ['X-Amz-Timestamp-Token', 't-1', 't-1'],
  ['Authorization-Timestamp', `HMAC-SHA256 Signature=${'Q'.repeat(43)}=`, 'QQQQQQQQ'],
  ['X-Signature-Timestamp', `t=1793697267,v1=${'Q'.repeat(43)}=`, 'QQQQQQQQ'],
  ['X-Idempotency-Key', `HMAC-SHA256 Signature=${'Q'.repeat(43)}=`, 'QQQQQQQQ'],
  ['X-Original', 'Bearer tok-123', 'tok-123'],
  ['X-Original', 'Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
  // The digest of a signature, which stands beside them, may have any letters, but no hyphen.
])('the credentials in %s: %s are hidden', async (name, value, hidden) => {
  const { send, receiver } = await run()
  await send(genuine({ headers: { Authorization: FORGED, [name]: value } }))
  await receiver.stop()
  const text = readFileSync(
    join(
      folder,
      readdirSync(folder).find((file) => file.endsWith('.http'))!,
    ),
    'latin1',
  )
  expect(text.toLowerCase()).toContain(`${name.toLowerCase()}: `)
  expect(text.replace(/^[\w-]+: /gm, '')).not.toContain(hidden)
})

test('a signature in X-Event-Type is in neither of the two files', async () => {
  const { send, receiver } = await run()
  const { Authorization } = genuine().headers
  await send(genuine({ headers: { Authorization: FORGED, 'X-Event-Type': Authorization! } }))
  await receiver.stop()
  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'))
  expect(files).toHaveLength(2)
  for (const text of files) {
    expect(text).toContain('[salted-sha256:')
    expect(text).not.toContain(Authorization!.split('Signature=')[1])
  }
})

test('the scheme of a token in Authorization is kept, because it may be the cause', async () => {
  const { send, receiver } = await run()
  await send(genuine({ headers: { Authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.short' } }))
  await receiver.stop()
  const [recorded] = await loadRecordedRequests(folder)
  expect(recorded!.bytes.toString('latin1')).toContain('Authorization: Bearer [hidden]')
})

const HEX = '0123456789abcdef'.repeat(4)

test.each([
  [
    'AWS4-HMAC-SHA256',
    `Credential=AKIA123/20261103/eu/execute-api/aws4_request, SignedHeaders=host;x-amz-date, Signature=${HEX}`,
  ],
  ['AWS4-ECDSA-P256-SHA256', `Credential=AKIA123/x, SignedHeaders=host, Signature=${HEX}`],
  ['GOOG4-RSA-SHA256', `Credential=AKIA123/x, SignedHeaders=host, Signature=${HEX.repeat(8)}`],
  ['EG1-HMAC-SHA256', 'client_token=AKIA123;access_token=b;timestamp=c;signature=AKIA123'],
  ['SharedAccessSignature', 'sr=AKIA123&sig=abc'],
  ['AWS', 'AKIA123:frJIUN8DYpKDtOLCwo'],
  ['OAuth', 'oauth_token="AKIA123", oauth_signature="abc"'],
  ['Digest', 'username="AKIA123", response="abc"'],
  ['Negotiate', 'AKIA123'],
  ['NTLM', 'AKIA123'],
  ['Hawk', 'id="AKIA123", mac="abc"'],
  ['DPoP', 'AKIA123'],
  ['Bearer', '[AKIA123'],
])('of %s in any header the scheme is kept, and no credential after it', (scheme, credentials) => {
  for (const name of ['Authorization', 'X-Original', 'Authorization-Timestamp']) {
    const hidden = hideCredentials(name, `${scheme} ${credentials}`)
    expect(hidden).toMatch(new RegExp(`^${scheme} \\[hidden\\]`))
    expect(hidden).not.toMatch(/AKIA123|abc"|frJIUN8|0123456789abcdef0123456789abcdef01/)
  }
})

test('a signature of the service that a proxy joined to other credentials is kept as a digest', () => {
  const signed = `HMAC-SHA256 Signature=${'Q'.repeat(43)}=`
  const marker = String.raw`HMAC-SHA256 Signature=\[salted-sha256:[\w:+/=-]+\]`
  expect(hideCredentials('Authorization', `Basic abc, ${signed}`)).toMatch(
    new RegExp(`^Basic \\[hidden\\], ${marker}$`),
  )
  expect(hideCredentials('Authorization', `${signed}, Bearer abc`)).toMatch(
    new RegExp(`^${marker}, Bearer \\[hidden\\]$`),
  )
  expect(hideCredentials('Authorization', `Hawk id="1", ${signed}, mac="a!b!c"`)).not.toContain('a!b!c')
})

test.each([
  [20, 'hex'],
  [48, 'base64'],
  [64, 'base64url'],
] as const)('of a signature of %i bytes only the length is kept', (length, form) => {
  const text = Buffer.alloc(length, 0xfb).toString(form)
  const hidden = `[hidden, ${length} bytes]`
  expect(hideCredentials('Authorization', `HMAC-SHA512 ${text}`)).toBe(`HMAC-SHA512 ${hidden}`)
  expect(hideCredentials('Authorization', `HMAC-SHA256 Signature=${text}`)).toBe(`HMAC-SHA256 ${hidden}`)
  expect(hideCredentials('Authorization', `Bearer ${text}`)).toBe('Bearer [hidden]')
})

test('the time grows with the length of a value, and not with its square', () => {
  const started = process.cpuUsage()
  for (const pattern of [
    '[salted-sha256:',
    '[',
    'basic ',
    'token=',
    'token ,',
    'aws4-hmac-',
    'eyJ-',
    '+a',
    '= ',
    `${'Q'.repeat(43)} `,
  ]) {
    const value = `signature= ${pattern.repeat(400_000 / pattern.length)}`
    expect(hideCredentials('X-Value', value)).toMatch(/^signature= /)
  }
  // If each opening bracket was searched for its end, it would be many seconds.
  expect(process.cpuUsage(started).user).toBeLessThan(3_000_000)
})
