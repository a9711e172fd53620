import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import express from 'express'
import { explainCallback, type Cause, type ReceivedRequest } from '../../src/diagnosis/index.js'
import { opensslSignature } from './openssl.js'
import { CONFIGURED, SIGNED } from './signed-elsewhere.js'

const servers: Server[] = []
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map(async (server) => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  )
})

async function listen(server: Server): Promise<number> {
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

interface Passed {
  readonly path: string
  readonly rawHeaders: string[]
  readonly body: Buffer
}

/** What a proxy makes of a request. */
type Change = (passed: Passed) => Passed

interface Row {
  readonly proxy: string
  readonly cause: Cause
  readonly togetherWith?: Cause
  readonly certainty?: 'likely'
  readonly change: Change
  /** What the service signs and sends. */
  readonly sent?: Buffer
  readonly configured?: Partial<typeof CONFIGURED>
}

const headers =
  (map: (name: string, value: string) => readonly string[]): Change =>
  (passed) => ({
    ...passed,
    rawHeaders: passed.rawHeaders.flatMap((value, at, all) => (at % 2 === 1 ? map(all[at - 1]!, value) : [])),
  })
const body =
  (change: (bytes: Buffer) => Buffer | string): Change =>
  (passed) => ({ ...passed, body: Buffer.from(change(passed.body)) })
const json = Buffer.from('{"Id": "64b87e81-f9c7-4125-8565-b199c6e65b4f", "name": "Käse"}')

const ROWS: Row[] = [
  {
    proxy: 'strips Authorization',
    cause: 'authorization-stripped',
    certainty: 'likely',
    change: headers((name, value) => (/^authorization$/i.test(name) ? [] : [name, value])),
  },
  {
    proxy: 'replaces Authorization',
    cause: 'authorization-replaced',
    certainty: 'likely',
    change: headers((name, value) => [name, /^authorization$/i.test(name) ? 'Basic dTpw' : value]),
  },
  {
    proxy: 'renames Authorization',
    cause: 'headers-renamed',
    change: headers((name, value) => [
      /^authorization$/i.test(name) ? 'X-Original-Authorization' : name,
      value,
    ]),
  },
  {
    proxy: 'renames both headers',
    cause: 'headers-renamed',
    change: headers((name, value) => [
      name.replace(/^authorization/i, 'X-Amzn-Remapped-Authorization'),
      value,
    ]),
  },
  {
    proxy: 'drops headers with a hyphen after Authorization',
    cause: 'timestamp-missing',
    certainty: 'likely',
    change: headers((name, value) => (/^authorization-/i.test(name) ? [] : [name, value])),
  },
  {
    proxy: 'writes the timestamp in ISO 8601',
    cause: 'timestamp-reformatted',
    change: headers((name, value) => [
      name,
      /^authorization-/i.test(name) ? new Date(value).toISOString() : value,
    ]),
  },
  {
    proxy: 'sends the timestamp twice',
    cause: 'timestamp-repeated',
    change: headers((name, value) =>
      /^authorization-/i.test(name) ? [name, value, name, new Date(0).toUTCString()] : [name, value],
    ),
  },
  {
    proxy: 'serialises the body again',
    cause: 'body-reserialised',
    change: body((bytes) => JSON.stringify(JSON.parse(bytes.toString()))),
  },
  {
    proxy: 'indents the body',
    cause: 'body-reserialised',
    change: body((bytes) => JSON.stringify(JSON.parse(bytes.toString()), null, 2)),
  },
  {
    proxy: 'trims the body',
    cause: 'body-trimmed',
    change: body((bytes) => bytes.toString().trim()),
    sent: Buffer.concat([json, Buffer.from('\r\n')]),
  },
  {
    proxy: 'reads the body as Latin-1',
    cause: 'body-decoded',
    change: body((bytes) => bytes.toString('latin1')),
  },
  { proxy: 'passes on Base64', cause: 'body-decoded', change: body((bytes) => bytes.toString('base64')) },
  { proxy: 'compresses the body', cause: 'body-compressed', change: body((bytes) => gzipSync(bytes)) },
  {
    proxy: 'decompresses the body',
    cause: 'body-decompressed',
    change: body((bytes) => gunzipSync(bytes)),
    sent: gzipSync(json),
  },
  { proxy: 'drops the body', cause: 'body-empty', certainty: 'likely', change: body(() => '') },
  {
    proxy: 'strips the first segment, and its target is configured',
    cause: 'url-path',
    change: (passed) => ({
      ...passed,
      path: passed.path.replace('/hooks', ''),
      rawHeaders: [...passed.rawHeaders, 'X-Forwarded-Prefix', '/hooks'],
    }),
    configured: { callbackUrl: CONFIGURED.callbackUrl.replace('/hooks', '') },
  },
  {
    proxy: 'replaces Host, and its target is configured',
    cause: 'url-host',
    change: ({ rawHeaders, ...passed }) => ({
      ...passed,
      rawHeaders: [
        ...rawHeaders.map((each) => (each === SIGNED.host ? 'receiver.internal:8080' : each)),
        'X-Forwarded-Host',
        SIGNED.host,
      ],
    }),
    configured: {
      callbackUrl: CONFIGURED.callbackUrl.replace(
        'https://partner.example.com',
        'http://receiver.internal:8080',
      ),
    },
  },
  {
    proxy: 'serialises the body again, and the secret has quotes',
    cause: 'secret-quotes',
    togetherWith: 'body-reserialised',
    change: body((bytes) => JSON.stringify(JSON.parse(bytes.toString()))),
    configured: { secret: `"${CONFIGURED.secret}"` },
  },
]

// Of the body that most requests have, once: the two processes of openssl take longer than the rest of a test.
const jsonSignature = opensslSignature({ ...SIGNED, body: json }).toString('base64')
const signatureOf = (sent: Buffer) =>
  sent === json ? jsonSignature : opensslSignature({ ...SIGNED, body: sent }).toString('base64')

/** Sends a request of the service through a proxy, and resolves to what arrives behind it. */
async function through(
  change: Change,
  sent: Buffer,
  arrived: (request: IncomingMessage) => Promise<Buffer>,
): Promise<ReceivedRequest> {
  let received: ReceivedRequest | undefined
  const receiver = createServer((request, response) => {
    void arrived(request).then((bytes) => {
      received = { path: request.url!, rawHeaders: request.rawHeaders, body: bytes }
      response.end()
    })
  })
  const receiverPort = await listen(receiver)
  const proxy = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      const passed = change({ path: request.url!, rawHeaders: request.rawHeaders, body: bytes })
      const framed = headers((name, value) =>
        /^(content-length|transfer-encoding|connection)$/i.test(name) ? [] : [name, value],
      )(passed)
      forward(
        receiverPort,
        { ...framed, rawHeaders: [...framed.rawHeaders, 'Content-Length', `${passed.body.length}`] },
        () => response.end(),
      )
    })
  })
  const proxyPort = await listen(proxy)
  const authorization = `HMAC-SHA256 Signature=${signatureOf(sent)}`
  const rawHeaders = [
    'Host',
    SIGNED.host,
    'X-Event-Type',
    CONFIGURED.eventTypeName,
    'Authorization-Timestamp',
    SIGNED.timestamp,
    'Authorization',
    authorization,
    'Content-Length',
    `${sent.length}`,
  ]
  await new Promise<void>((resolve) =>
    forward(proxyPort, { path: SIGNED.target, rawHeaders, body: sent }, resolve),
  )
  return received!
}

function forward(port: number, { path, rawHeaders, body }: Passed, onAnswer: () => void): void {
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    headers: rawHeaders,
    agent: false,
  })
  request.on('response', (response) => response.resume().on('end', onAnswer))
  request.end(body)
}

test.each(ROWS.map((row) => [row.proxy, row] as const))('a proxy that %s', async (_, row) => {
  const { cause, togetherWith, certainty = 'proven', change, sent = json, configured } = row
  const request = await through(change, sent, buffer)
  const { findings } = explainCallback(request, {
    subscriptions: [{ ...CONFIGURED, ...configured }],
    maxMs: 10_000,
  })
  expect(findings[0]).toMatchObject({ cause, certainty })
  expect(findings[0]?.togetherWith).toBe(togetherWith)
})

test('a proxy that changes nothing', async () => {
  const request = await through((passed) => passed, json, buffer)
  expect(explainCallback(request, { subscriptions: [CONFIGURED] })).toMatchObject({
    verified: true,
    findings: [],
  })
})

test('express.json() ahead of a receiver that serialises req.body', async () => {
  const parse = express.json()
  const request = await through(
    headers((name, value) => [name, value, ...(name === 'Host' ? ['Content-Type', 'application/json'] : [])]),
    json,
    (message) =>
      new Promise((resolve, reject) => {
        parse(message, {} as express.Response, (error?: unknown) =>
          error ? reject(error) : resolve(Buffer.from(JSON.stringify((message as express.Request).body))),
        )
      }),
  )
  const { findings } = explainCallback(request, { subscriptions: [CONFIGURED], maxMs: 10_000 })
  expect(findings[0]).toMatchObject({ cause: 'body-reserialised', certainty: 'proven' })
})
