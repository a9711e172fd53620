import { gunzipSync, gzipSync } from 'node:zlib'
import type { Cause, ExplainOptions, ReceivedRequest } from '../../src/diagnosis/index.js'
import { CONFIGURED, received, signature, SIGNED, type Headers } from './signed-elsewhere.js'

/** A set-up with one mistake, or two. */
export interface Deployment {
  readonly mistake: string
  readonly cause: Cause
  readonly togetherWith?: Cause
  /** `proven` unless stated. */
  readonly certainty?: 'likely'
  readonly request: ReceivedRequest
  readonly options?: Partial<ExplainOptions>
}

/** Configured with this secret while the service signs with another one. */
function secret(mistake: string, cause: Cause, configured: string, signedWith: string | Buffer): Deployment {
  return {
    mistake,
    cause,
    request: received({ secret: signedWith }),
    options: { subscriptions: [{ ...CONFIGURED, secret: configured }] },
  }
}

const TEXT = CONFIGURED.secret
const BASE64 = Buffer.from(TEXT).toString('base64')

export const SECRETS: Deployment[] = [
  secret('secretText is configured in place of the text', 'secret-is-base64', BASE64, TEXT),
  secret('secretText without its padding is configured', 'secret-is-base64', BASE64.replace(/=+$/, ''), TEXT),
  secret(
    'a random text was sent as secretText without encoding it',
    'secret-is-base64',
    'Ym9keQ/+x7Zk',
    Buffer.from('Ym9keQ/+x7Zk', 'base64'),
  ),
  secret('the service was sent Base64 of Base64', 'secret-encoded-twice', TEXT, BASE64),
  secret(
    'base64 of coreutils added a line end to what was encoded again',
    'secret-encoded-twice',
    TEXT,
    `${BASE64}\n`,
  ),
  secret('echo without -n wrote the file', 'secret-white-space', `${TEXT}\n`, TEXT),
  secret('an editor of Windows wrote the file', 'secret-white-space', `${TEXT}\r\n`, TEXT),
  secret('an editor of Windows wrote a byte order mark', 'secret-white-space', `\ufeff${TEXT}`, TEXT),
  secret('a space was copied from a web page', 'secret-white-space', ` ${TEXT}`, TEXT),
  secret('echo secret | base64 made secretText', 'secret-white-space', TEXT, `${TEXT}\n`),
  secret('a zero-width space was pasted', 'secret-white-space', `${TEXT}\u200b`, TEXT),
  secret('Docker kept the double quotes of an env file', 'secret-quotes', `"${TEXT}"`, TEXT),
  secret('an env file has single quotes', 'secret-quotes', `'${TEXT}'`, TEXT),
  secret('the quotes were part of what was encoded', 'secret-quotes', TEXT, `"${TEXT}"`),
  secret('the whole line of the env file was copied', 'secret-quotes', `CALLBACK_SECRET=${TEXT}`, TEXT),
  secret(
    'a shell script escaped the dollar sign',
    'secret-quotes',
    String.raw`pa\$\$word-0123456789`,
    'pa$$word-0123456789',
  ),
  secret(
    'a secret manager returned JSON',
    'secret-quotes',
    String.raw`two\nlines-of-0123456789`,
    'two\nlines-of-0123456789',
  ),
  secret(
    'the secret was copied from a URL',
    'secret-hex-or-url-form',
    'a%2Fb%2Bc%3D0123456789',
    'a/b+c=0123456789',
  ),
  secret(
    'the secret was encoded for a URL before it was sent',
    'secret-hex-or-url-form',
    'a/b+c=0123456789',
    'a%2Fb%2Bc%3D0123456789',
  ),
  secret(
    'hexadecimal digits are configured',
    'secret-hex-or-url-form',
    Buffer.from(TEXT).toString('hex'),
    TEXT,
  ),
  secret(
    'the service was sent hexadecimal digits',
    'secret-hex-or-url-form',
    TEXT,
    Buffer.from(TEXT).toString('hex'),
  ),
  secret(
    'the secret was copied from the source of a page',
    'secret-hex-or-url-form',
    'a&amp;b&lt;c-0123456789',
    'a&b<c-0123456789',
  ),
  secret('a form turned + into a space', 'secret-hex-or-url-form', 'a b c', 'a+b+c'),
  secret('a program wrote the secret in lower case', 'secret-case', TEXT.toLowerCase(), TEXT.toUpperCase()),
  secret('a form wrote the secret in upper case', 'secret-case', TEXT, TEXT.toUpperCase()),
  secret(
    'the service got what an env file had before #',
    'secret-truncated',
    'abc0123456789#rest',
    'abc0123456789',
  ),
  secret('a shell expanded $NAME to nothing', 'secret-truncated', 'abc$HOMEdef-0123456789', 'abc-0123456789'),
  secret('a compose file needs $$ for $', 'secret-truncated', 'abc$$def-0123456789', 'abc$def-0123456789'),
  secret('a form field takes 32 characters', 'secret-truncated', TEXT, TEXT.slice(0, 32)),
  {
    ...secret('an env file cut the secret at #', 'secret-truncated', 'abc0123456789', 'abc0123456789#rest'),
    options: {
      subscriptions: [{ ...CONFIGURED, secret: 'abc0123456789' }],
      previousSecrets: ['abc0123456789#rest'],
    },
  },
  secret(
    'a Mac decomposed the umlaut',
    'secret-unicode-form',
    'schl\u0075\u0308ssel-0123456789',
    'schl\u00fcssel-0123456789',
  ),
  secret(
    'a form composed the umlaut',
    'secret-unicode-form',
    'schl\u00fcssel-0123456789',
    'schl\u0075\u0308ssel-0123456789',
  ),
  secret(
    'a program encoded the text as Latin-1',
    'secret-unicode-form',
    'schlüssel-0123456789',
    Buffer.from('schlüssel-0123456789', 'latin1'),
  ),
  secret('UTF-8 was read as Latin-1', 'secret-unicode-form', 'schlÃ¼ssel-0123456789', 'schlüssel-0123456789'),
  {
    ...secret(
      'the secret was replaced, and the service still signs with the old one',
      'secret-of-previous-rotation',
      TEXT,
      'the-old-secret-0123456789',
    ),
    options: { previousSecrets: ['another-one', 'the-old-secret-0123456789'] },
  },
  {
    mistake: 'two subscriptions have exchanged secrets',
    cause: 'secret-of-other-subscription',
    request: received({ secret: 'other-secret-0123456789' }),
    options: {
      subscriptions: [
        CONFIGURED,
        {
          eventTypeName: 'accounts.updated',
          callbackUrl: 'https://partner.example.com/hooks/accounts',
          secret: 'other-secret-0123456789',
        },
      ],
    },
  },
  {
    ...secret('secretText was saved by an editor', 'secret-is-base64', `${BASE64}\n`, TEXT),
  },
  {
    ...secret('a quoted line of Windows', 'secret-white-space', `"${TEXT}"\r\n`, TEXT),
    togetherWith: 'secret-quotes',
  },
]

/** Configured with one URL while the service signs another one. */
function url(
  mistake: string,
  cause: Cause,
  configured: string,
  signed: { host?: string; target?: string },
  arrived: { path?: string; host?: string; more?: Headers } = {},
): Deployment {
  const { path = signed.target ?? SIGNED.target, host = 'partner.example.com', more = [] } = arrived
  return {
    mistake,
    cause,
    request: received(signed, {
      path,
      headers: (headers) => [
        ...headers.map(([name, value]) =>
          name === 'Host' ? ([name, host] as const) : ([name, value] as const),
        ),
        ...more,
      ],
    }),
    options: { subscriptions: [{ ...CONFIGURED, callbackUrl: configured }] },
  }
}

const PATH = '/hooks/transfers'
const PLAIN = `https://partner.example.com${PATH}`

export const URLS: Deployment[] = [
  url('the service signs the default port', 'url-scheme-or-port', PLAIN, {
    host: 'partner.example.com:443',
    target: PATH,
  }),
  url(
    'the port of the proxy was not configured',
    'url-scheme-or-port',
    PLAIN,
    { host: 'partner.example.com:8443', target: PATH },
    { host: 'partner.example.com:8443' },
  ),
  url(
    'the internal port was configured',
    'url-scheme-or-port',
    'https://partner.example.com:3000/hooks/transfers',
    { target: PATH },
  ),
  url('the internal name was configured', 'url-host', 'http://receiver.internal/hooks/transfers', {
    target: PATH,
  }),
  url(
    'the internal name was configured, and the proxy replaces Host',
    'url-host',
    'http://receiver.internal/hooks/transfers',
    { target: PATH },
    { host: 'receiver.internal', more: [['X-Forwarded-Host', 'partner.example.com']] },
  ),
  url(
    'the proxy names the host in Forwarded',
    'url-host',
    'http://receiver.internal/hooks/transfers',
    { target: PATH },
    {
      host: 'receiver.internal',
      more: [['Forwarded', 'for=192.0.2.1;host=partner.example.com;proto=https']],
    },
  ),
  url(
    'www was configured',
    'url-host',
    'https://www.partner.example.com/hooks/transfers',
    { target: PATH },
    { host: '127.0.0.1' },
  ),
  url(
    'www was subscribed',
    'url-host',
    PLAIN,
    { host: 'www.partner.example.com', target: PATH },
    { host: '127.0.0.1' },
  ),
  url(
    'the service signs the Unicode form of the host',
    'url-host',
    'https://xn--bcher-kva.example/hooks/transfers',
    { host: 'bücher.example', target: PATH },
    { host: '127.0.0.1' },
  ),
  url('a slash was subscribed', 'url-trailing-slash', PLAIN, { target: `${PATH}/` }),
  url('a slash was configured', 'url-trailing-slash', `${PLAIN}/`, { target: PATH }),
  url('the path below the mount point was configured', 'url-path', 'https://partner.example.com/transfers', {
    target: PATH,
  }),
  url(
    'the path behind the gateway was configured, and the gateway names its prefix',
    'url-path',
    'https://partner.example.com/transfers',
    { target: '/prefix/transfers' },
    { path: '/transfers', more: [['X-Forwarded-Prefix', '/prefix']] },
  ),
  url(
    'the path before the gateway strips it was configured',
    'url-path',
    'https://partner.example.com/api/hooks/transfers',
    { target: PATH },
    { path: '/internal' },
  ),
  url(
    'the gateway keeps the path in X-Original-URL',
    'url-path',
    'https://partner.example.com/in',
    { target: '/public/in/here' },
    { path: '/in', more: [['X-Original-URL', '/public/in/here']] },
  ),
  url(
    'the case of the path was changed',
    'url-path',
    'https://partner.example.com/Hooks/Transfers',
    { target: PATH },
    { path: '/' },
  ),
  url(
    'two slashes were joined',
    'url-path',
    'https://partner.example.com/hooks//transfers',
    { target: PATH },
    { path: '/' },
  ),
  url('the query was not configured', 'url-query', PLAIN, { target: `${PATH}?token=tok-5be7` }),
  url('the query was configured and not subscribed', 'url-query', `${PLAIN}?tenant=north`, { target: PATH }),
  url(
    'the query is in another order',
    'url-query',
    `${PLAIN}?b=2&a=1`,
    { target: `${PATH}?a=1&b=2` },
    { path: PATH },
  ),
  url(
    'a query of three is in another order',
    'url-query',
    `${PLAIN}?c=3&a=1&b=2`,
    { target: `${PATH}?b=2&c=3&a=1` },
    { path: PATH },
  ),
  url(
    'spaces are + and %20',
    'url-query',
    `${PLAIN}?name=a+b`,
    { target: `${PATH}?name=a%20b` },
    { path: PATH },
  ),
  url(
    'the query was decoded',
    'url-query',
    `${PLAIN}?name=a%2Fb`,
    { target: `${PATH}?name=a/b` },
    { path: PATH },
  ),
  url(
    'the codes of the query are in lower case',
    'url-query',
    `${PLAIN}?name=a%2Fb`,
    { target: `${PATH}?name=a%2fb` },
    { path: PATH },
  ),
  url(
    'the service signs the question mark of an empty query',
    'url-query',
    PLAIN,
    { target: `${PATH}?` },
    { path: PATH },
  ),
  url(
    'the path was decoded',
    'url-encoding',
    'https://partner.example.com/hooks/%C3%BCber',
    { target: '/hooks/über' },
    { path: '/' },
  ),
  url(
    'the codes of the path are in lower case',
    'url-encoding',
    'https://partner.example.com/hooks/%C3%BCber',
    { target: '/hooks/%c3%bcber' },
    { path: '/' },
  ),
  url(
    'a spelling is configured that the URL standard changes',
    'url-encoding',
    'https://partner.example.com/hooks/a b',
    { target: '/hooks/a b' },
    { path: '/' },
  ),
  url(
    'a fragment was subscribed',
    'url-fragment',
    `${PLAIN}#here`,
    { target: `${PATH}#here` },
    { path: PATH },
  ),
  {
    ...url(
      'two subscriptions have exchanged URLs',
      'url-of-other-subscription',
      'https://a.example.com/one?x=1',
      { host: 'b.example.net', target: '/two' },
      { path: '/', host: '127.0.0.1' },
    ),
    options: {
      subscriptions: [
        { ...CONFIGURED, callbackUrl: 'https://a.example.com/one?x=1' },
        {
          eventTypeName: 'accounts.updated',
          callbackUrl: 'https://b.example.net/two',
          secret: 'other-secret-0123456789',
        },
      ],
    },
  },
  {
    ...url(
      'the URL of the staging environment was subscribed',
      'url-host',
      PLAIN,
      { host: 'staging.example.com', target: PATH },
      { host: '127.0.0.1' },
    ),
    options: {
      subscriptions: [{ ...CONFIGURED, callbackUrl: PLAIN }],
      urls: [`https://staging.example.com${PATH}`],
    },
  },
  {
    ...url(
      'the internal host and a slash too many are configured',
      'url-host',
      'http://receiver.internal/hooks/transfers/',
      { target: PATH },
    ),
    togetherWith: 'url-trailing-slash',
  },
]

const instead =
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

function body(
  mistake: string,
  cause: Cause,
  signed: string | Buffer,
  arrived: string | Buffer,
  headers: Headers = [],
): Deployment {
  return {
    mistake,
    cause,
    request: received({ body: signed }, { body: arrived, headers: (all) => [...all, ...headers] }),
  }
}

const JSON_BODY =
  '{"Id": "64b87e81-f9c7-4125-8565-b199c6e65b4f", "name": "Käse/Brot", "amount": 12.50, "tags": ["a", "b"], "none": {}}'
const PARSED: unknown = JSON.parse(JSON_BODY)
const SHORT = '{"Id":"64b87e81-f9c7-4125-8565-b199c6e65b4f","name":"Käse"}'

export const BODIES: Deployment[] = [
  body(
    'express.json() parsed what Python wrote',
    'body-reserialised',
    '{"Id": "1", "list": [1, 2]}',
    '{"Id":"1","list":[1,2]}',
  ),
  body(
    'a gateway indented the body',
    'body-reserialised',
    '{"Id":"1","list":[1,2],"none":{}}',
    JSON.stringify({ Id: '1', list: [1, 2], none: {} }, null, 2),
  ),
  body(
    'a gateway removed the indentation',
    'body-reserialised',
    JSON.stringify(PARSED, null, 4),
    JSON.stringify(PARSED),
  ),
  body(
    'a gateway removed tabs',
    'body-reserialised',
    JSON.stringify(PARSED, null, '\t'),
    JSON.stringify(PARSED),
  ),
  body(
    'Python escaped what is not ASCII',
    'body-reserialised',
    SHORT,
    SHORT.replace('ä', String.raw`\u00e4`),
  ),
  body('a parser read the escapes', 'body-reserialised', SHORT.replace('ä', String.raw`\u00e4`), SHORT),
  body(
    'PHP escaped slashes',
    'body-reserialised',
    '{"url":"https://a.example/b"}',
    String.raw`{"url":"https:\/\/a.example\/b"}`,
  ),
  body(
    'the service is written in PHP',
    'body-reserialised',
    String.raw`{"url":"https:\/\/a.example\/b"}`,
    '{"url":"https://a.example/b"}',
  ),
  body('JavaScript cut the decimals', 'body-reserialised', '{"amount":12.50}', '{"amount":12.5}'),
  body(
    'Python signed with spaces and two decimals',
    'body-reserialised',
    '{"amount": 12.50, "Id": "1"}',
    '{"amount":12.5,"Id":"1"}',
  ),
  body('Go escaped the ampersand', 'body-reserialised', '{"name":"a&b"}', String.raw`{"name":"a\u0026b"}`),
  body('a queue serialised the text again', 'body-reserialised', SHORT, JSON.stringify(SHORT)),
  body('a text reader removed the final line end', 'body-trimmed', `${SHORT}\n`, SHORT),
  body('an editor added a line end', 'body-trimmed', SHORT, `${SHORT}\n`),
  body('git converted the line ends', 'body-trimmed', '{\n"Id": "1"\n}', '{\r\n"Id": "1"\r\n}'),
  body('a reader removed the byte order mark', 'body-trimmed', `\ufeff${SHORT}`, SHORT),
  body('a program read UTF-8 as Latin-1', 'body-decoded', SHORT, Buffer.from(SHORT).toString('latin1')),
  body('a program wrote Latin-1', 'body-decoded', SHORT, Buffer.from(SHORT, 'latin1')),
  body('a serverless event has Base64', 'body-decoded', SHORT, Buffer.from(SHORT).toString('base64')),
  {
    ...body(
      'a program decoded bytes that are not UTF-8',
      'body-decoded',
      Buffer.from('{"name":"K\xe4se"}', 'latin1'),
      Buffer.from('{"name":"K\xe4se"}', 'latin1').toString('utf8'),
    ),
    certainty: 'likely',
  },
  body('the proxy compressed the body', 'body-compressed', SHORT, gzipSync(SHORT), [
    ['Content-Encoding', 'gzip'],
  ]),
  body('the proxy decompressed the body', 'body-decompressed', gzipSync(SHORT), gunzipSync(gzipSync(SHORT))),
  {
    ...body('a parser read the body before', 'body-empty', SHORT, '', [['Content-Length', '59']]),
    certainty: 'likely',
  },
  { ...body('express.json() left an empty object', 'body-empty', SHORT, '{}'), certainty: 'likely' },
  body('the sender signs an empty body', 'body-empty', '', SHORT),
  {
    ...body('the proxy cut the body', 'body-truncated', SHORT, SHORT.slice(0, 20), [
      ['Content-Length', '60'],
    ]),
    certainty: 'likely',
  },
  body('something appended to the body', 'body-truncated', SHORT, `${SHORT}appended`, [
    ['Content-Length', `${Buffer.byteLength(SHORT)}`],
  ]),
  {
    ...body(
      'Python signed spaces and a final line end',
      'body-reserialised',
      '{"Id": "1", "b": 2}\n',
      '{"Id":"1","b":2}',
    ),
    togetherWith: 'body-trimmed',
  },
]

const CAPTURED = received({})
const at = (text: string) => ({ ...CAPTURED, receivedAt: new Date(text) })

export const CLOCKS: Deployment[] = [
  { mistake: 'the clock of the machine is behind', cause: 'clock-skew', request: at('2026-11-03T08:14:27Z') },
  {
    mistake: 'the queue of the service was stopped for two days',
    cause: 'delivery-late',
    certainty: 'likely',
    request: at('2026-11-05T09:14:27Z'),
  },
  {
    mistake: 'the clock of the machine is two days ahead',
    cause: 'clock-skew',
    certainty: 'likely',
    request: at('2026-11-05T09:14:27Z'),
    options: {
      otherRequests: [
        {
          ...received({ timestamp: 'Tue, 03 Nov 2026 10:00:00 GMT' }),
          receivedAt: new Date('2026-11-05T10:00:01Z'),
        },
      ],
    },
  },
  {
    mistake: 'a captured delivery was sent under a new key',
    cause: 'replayed',
    request: CAPTURED,
    options: {
      otherRequests: [
        received(
          {},
          {
            headers: instead('X-Idempotency-Key', [
              'X-Idempotency-Key',
              '00000000-0000-4000-8000-000000000000',
            ]),
          },
        ),
      ],
    },
  },
]

export const PAIRS: Deployment[] = [
  {
    mistake: 'the internal host is configured with the quotes of an env file',
    cause: 'secret-quotes',
    togetherWith: 'url-host',
    request: received({ target: PATH }, { path: PATH }),
    options: {
      subscriptions: [{ ...CONFIGURED, callbackUrl: `http://receiver.internal${PATH}`, secret: `"${TEXT}"` }],
    },
  },
  {
    mistake: 'secretText is configured and a body parser is mounted ahead',
    cause: 'secret-is-base64',
    togetherWith: 'body-reserialised',
    request: received({ body: '{"Id": "1", "b": 2}' }, { body: '{"Id":"1","b":2}' }),
    options: { subscriptions: [{ ...CONFIGURED, secret: BASE64 }] },
  },
  {
    mistake: 'the proxy renames Authorization and the secret has a line end',
    cause: 'headers-renamed',
    togetherWith: 'secret-white-space',
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
    options: { subscriptions: [{ ...CONFIGURED, secret: `${TEXT}\n` }] },
  },
]

export const NOTHING_FITS: Deployment = {
  mistake: 'another secret altogether',
  cause: 'forged-or-unknown',
  certainty: 'likely',
  request: received({ secret: 'nobody-knows-this-0123456789' }),
}

export const DEPLOYMENTS: Deployment[] = [
  ...SECRETS,
  ...URLS,
  ...HEADERS,
  ...BODIES,
  ...CLOCKS,
  ...PAIRS,
  NOTHING_FITS,
]
