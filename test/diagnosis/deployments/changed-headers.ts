import { opensslSignature } from '../openssl.js'
import { received, signature, SIGNED, type Headers } from '../signed-elsewhere.js'
import type { Deployment } from './deployment.js'

export const instead =
  (name: string, ...lines: Headers) =>
  (headers: Headers) =>
    headers.flatMap((header) => (header[0] === name ? lines : [header]))
const without = (name: string) => instead(name)
const authorization = (write: (base64: string, bytes: Buffer) => string) =>
  instead('Authorization', ['Authorization', write(signature(SIGNED).toString('base64'), signature(SIGNED))])
const timestamp = (text: string) => instead('Authorization-Timestamp', ['Authorization-Timestamp', text])

export const HEADERS: Deployment[] = [
  {
    mistake: 'the proxy strips Authorization',
    cause: 'authorization-stripped',
    certainty: 'likely',
    request: received({}, { headers: without('Authorization') }),
  },
  {
    mistake: 'the proxy has Basic credentials of its own',
    cause: 'authorization-replaced',
    certainty: 'likely',
    request: received(
      {},
      { headers: instead('Authorization', ['Authorization', 'Basic dXNlcjpwYXNzd29yZA==']) },
    ),
  },
  {
    mistake: 'the gateway sends a token of its own',
    cause: 'authorization-replaced',
    certainty: 'likely',
    request: received(
      {},
      { headers: instead('Authorization', ['Authorization', 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc']) },
    ),
  },
  {
    mistake: 'the gateway adds a token',
    cause: 'authorization-repeated',
    request: received({}, { headers: (headers) => [...headers, ['Authorization', 'Bearer abc']] }),
  },
  {
    mistake: 'the proxy sends Authorization twice',
    cause: 'authorization-repeated',
    request: received({}, { headers: (headers) => [...headers, headers.at(-1)!] }),
  },
  {
    mistake: 'the proxy joins two signatures',
    cause: 'authorization-repeated',
    request: received(
      {},
      { headers: authorization((text) => `HMAC-SHA256 Signature=${text}, HMAC-SHA256 Signature=${text}`) },
    ),
  },
  {
    mistake: 'the sender writes hexadecimal digits',
    cause: 'authorization-hex',
    request: received(
      {},
      { headers: authorization((_, bytes) => `HMAC-SHA256 Signature=${bytes.toString('hex')}`) },
    ),
  },
  {
    mistake: 'the sender writes hexadecimal digits in upper case',
    cause: 'authorization-hex',
    request: received(
      {},
      {
        headers: authorization((_, bytes) => `HMAC-SHA256 Signature=${bytes.toString('hex').toUpperCase()}`),
      },
    ),
  },
  {
    mistake: 'the sender writes URL-safe Base64',
    cause: 'authorization-url-safe-base64',
    request: received(
      {},
      { headers: authorization((_, bytes) => `HMAC-SHA256 Signature=${bytes.toString('base64url')}`) },
    ),
  },
  {
    mistake: 'the sender leaves out the name of the parameter',
    cause: 'authorization-scheme',
    request: received({}, { headers: authorization((text) => `HMAC-SHA256 ${text}`) }),
  },
  {
    mistake: 'the sender quotes the signature',
    cause: 'authorization-scheme',
    request: received({}, { headers: authorization((text) => `HMAC-SHA256 Signature="${text}"`) }),
  },
  {
    mistake: 'the sender writes another scheme',
    cause: 'authorization-scheme',
    request: received({}, { headers: authorization((text) => `sha256=${text}`) }),
  },
  {
    mistake: 'the sender signs with HMAC-SHA512',
    cause: 'signature-algorithm',
    request: received(
      {},
      {
        headers: authorization(
          () => `HMAC-SHA256 Signature=${opensslSignature(SIGNED, { hmac: 'sha512' }).toString('base64')}`,
        ),
      },
    ),
  },
  {
    mistake: 'an edge signs for the service behind it',
    cause: 'authorization-replaced',
    certainty: 'likely',
    request: received(
      {},
      {
        headers: authorization(
          () =>
            `AWS4-HMAC-SHA256 Credential=AKIA/20261103/x, SignedHeaders=host, Signature=${'0b'.repeat(32)}`,
        ),
      },
    ),
  },
  {
    mistake: 'the proxy renames Authorization',
    cause: 'headers-renamed',
    request: received(
      {},
      {
        headers: (headers) =>
          headers.map(([name, value]) => [
            name === 'Authorization' ? 'X-Original-Authorization' : name,
            value,
          ]),
      },
    ),
  },
  {
    mistake: 'the proxy renames Authorization and sets its own',
    cause: 'headers-renamed',
    request: received(
      {},
      {
        headers: (headers) => [
          ...headers.map(
            ([name, value]) =>
              [name === 'Authorization' ? 'X-Forwarded-Authorization' : name, value] as const,
          ),
          ['Authorization', 'Bearer abc'],
        ],
      },
    ),
  },
  {
    mistake: 'the gateway renames the timestamp',
    cause: 'headers-renamed',
    request: received(
      {},
      {
        headers: (headers) =>
          headers.map(([name, value]) => [
            name === 'Authorization-Timestamp' ? 'X-Original-Authorization-Timestamp' : name,
            value,
          ]),
      },
    ),
  },
  {
    mistake: 'the gateway renames both headers',
    cause: 'headers-renamed',
    request: received(
      {},
      {
        headers: (headers) =>
          headers.map(([name, value]) => [
            name.startsWith('Authorization') ? `X-Amzn-Remapped-${name}` : name,
            value,
          ]),
      },
    ),
  },
  {
    mistake: 'the proxy drops the timestamp',
    cause: 'timestamp-missing',
    certainty: 'likely',
    request: received({}, { headers: without('Authorization-Timestamp') }),
  },
  {
    mistake: 'the proxy adds a timestamp of its own',
    cause: 'timestamp-repeated',
    request: received(
      {},
      { headers: (headers) => [...headers, ['Authorization-Timestamp', 'Tue, 03 Nov 2026 09:14:28 GMT']] },
    ),
  },
  {
    mistake: 'the gateway rewrites the timestamp to ISO 8601',
    cause: 'timestamp-reformatted',
    request: received({}, { headers: timestamp('2026-11-03T09:14:27Z') }),
  },
  {
    mistake: 'the gateway rewrites the timestamp to seconds',
    cause: 'timestamp-reformatted',
    request: received({}, { headers: timestamp('1793697267') }),
  },
  {
    mistake: 'the sender signs ISO 8601 and sends an HTTP date',
    cause: 'timestamp-reformatted',
    request: received({ timestamp: '2026-11-03T09:14:27.000Z' }, { headers: timestamp(SIGNED.timestamp) }),
  },
  {
    mistake: 'the sender signs and sends ISO 8601',
    cause: 'timestamp-reformatted',
    request: received({ timestamp: '2026-11-03T09:14:27Z' }),
  },
  {
    mistake: 'the sender signs the time of its zone',
    cause: 'timestamp-reformatted',
    request: received(
      { timestamp: 'Tue, 03 Nov 2026 10:14:27 +0100' },
      { headers: timestamp(SIGNED.timestamp) },
    ),
  },
  {
    mistake: 'the sender signs the form of RFC 850',
    cause: 'timestamp-reformatted',
    request: received(
      { timestamp: 'Tuesday, 03-Nov-26 09:14:27 GMT' },
      { headers: timestamp(SIGNED.timestamp) },
    ),
  },
]
