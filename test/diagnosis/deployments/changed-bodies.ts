import { gunzipSync, gzipSync } from 'node:zlib'
import type { Cause } from '../../../src/diagnosis/index.js'
import { received, type Headers } from '../signed-elsewhere.js'
import type { Deployment } from './deployment.js'

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
