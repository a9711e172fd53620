import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, type OutcomeCode } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { collectedLog } from '../support/collected-log.js'
import { HOST_NAMES, serve } from '../support/hosts.js'
import { editHead, withHeader, withLines } from '../support/http-bytes.js'
import { FORGED, genuine, runReceiver, subscription } from '../support/running-receiver.js'

/** What of a header Countersign itself refuses; `null` is refused by Node's parser, which answers 400. */
type Refusal = readonly [header: string, status: number, code: OutcomeCode | null]

const DOUBLED: readonly Refusal[] = [
  ['Authorization', 401, 'ERR_AUTHORIZATION_REPEATED'],
  ['Authorization-Timestamp', 401, 'ERR_TIMESTAMP_REPEATED'],
  ['X-Idempotency-Key', 400, 'ERR_IDEMPOTENCY_KEY_MISSING'],
  ['X-Event-Type', 400, 'ERR_EVENT_TYPE_MISSING'],
  ['Content-Encoding', 415, 'ERR_BODY_ENCODED'],
  ['Content-Length', 400, null],
  ['Content-Type', 200, 'HANDLED'],
]

const EMPTY: readonly Refusal[] = [
  ['Authorization', 401, 'ERR_AUTHORIZATION_MALFORMED'],
  ['Authorization-Timestamp', 401, 'ERR_TIMESTAMP_MALFORMED'],
  ['X-Idempotency-Key', 400, 'ERR_IDEMPOTENCY_KEY_MISSING'],
  ['X-Event-Type', 400, 'ERR_EVENT_TYPE_MISSING'],
  ['Content-Encoding', 415, 'ERR_BODY_ENCODED'],
  ['Content-Length', 400, null],
  ['Content-Type', 200, 'HANDLED'],
]

const STRANGE: readonly Refusal[] = [
  ['Authorization', 401, 'ERR_AUTHORIZATION_MALFORMED'],
  ['Authorization-Timestamp', 401, 'ERR_TIMESTAMP_MALFORMED'],
  ['X-Idempotency-Key', 400, 'ERR_IDEMPOTENCY_KEY_MALFORMED'],
  ['X-Event-Type', 401, 'ERR_EVENT_TYPE_MISMATCH'],
  ['Content-Encoding', 415, 'ERR_BODY_ENCODED'],
  ['Content-Type', 200, 'HANDLED'],
]

const LONG = 'a'.repeat(100_000)

/** A callback that has every header of the tables. */
function complete(): Buffer {
  return genuine({ headers: { 'Content-Encoding': 'identity' } }).toHttp()
}

describe.each(HOST_NAMES)('in %s', (hostName) => {
  async function outcomeOf(request: Uint8Array): Promise<{ status: number; code: OutcomeCode | null }> {
    const { send, handled, outcomes, log } = await runReceiver({ in: hostName })
    const { status } = await send(request)
    expect(handled).toHaveLength(status === 200 ? 1 : 0)
    expect(log.withCode('ERR_INTERNAL')).toEqual([])
    return { status, code: outcomes[0]?.code ?? null }
  }

  it.each(DOUBLED)('a second %s: %i, %s', async (header, status, code) => {
    const request = complete()
    const line = new RegExp(`^${header}: .*$`, 'm').exec(request.toString('latin1'))![0]
    expect(await outcomeOf(withLines(request, line))).toEqual({ status, code })
  })

  it.each(EMPTY)('an empty %s: %i, %s', async (header, status, code) => {
    expect(await outcomeOf(withHeader(complete(), header, ''))).toEqual({ status, code })
  })

  it.each(STRANGE)('a %s in UTF-8: %i, %s', async (header, status, code) => {
    const value = Buffer.from('Überweisung 付款').toString('latin1')
    expect(await outcomeOf(withHeader(complete(), header, value))).toEqual({ status, code })
  })

  it.each(STRANGE)('a %s in bytes that are no UTF-8: %i, %s', async (header, status, code) => {
    expect(await outcomeOf(withHeader(complete(), header, '\xff\xfe\x80'))).toEqual({ status, code })
  })

  it.each([...STRANGE.map(([header]) => header), 'Host'])('a %s of 100 kB: 431', async (header) => {
    expect(await outcomeOf(withHeader(complete(), header, LONG))).toEqual({ status: 431, code: null })
  })

  it('refuses a second Authorization wherever it stands and however it is spelled', async () => {
    const request = genuine().toHttp()
    const second = `aUTHORIZATION: ${FORGED}`
    const refused = { status: 401, code: 'ERR_AUTHORIZATION_REPEATED' }
    expect(await outcomeOf(withLines(request, second))).toEqual(refused)
    const ahead = editHead(request, (head) => head.replace('\r\n', `\r\n${second}\r\n`))
    expect(await outcomeOf(ahead)).toEqual(refused)
  })

  it.each(DOUBLED.filter(([, , code]) => code?.endsWith('_REPEATED')))(
    'an empty %s ahead of the right one: %i, %s',
    async (header, status, code) => {
      const request = editHead(complete(), (head) => head.replace('\r\n', `\r\n${header}:\r\n`))
      expect(await outcomeOf(request)).toEqual({ status, code })
    },
  )

  it('refuses two credentials in one Authorization', async () => {
    const { headers, toHttp } = genuine()
    const both = `${headers['Authorization']}, ${FORGED}`
    expect(await outcomeOf(withHeader(toHttp(), 'Authorization', both))).toEqual({
      status: 401,
      code: 'ERR_AUTHORIZATION_MALFORMED',
    })
  })

  it('does not look for credentials behind the body', async () => {
    const { headers, toHttp } = genuine({ headers: { Trailer: 'Authorization' } })
    const bare = editHead(toHttp({ chunked: true }), (head) => head.replace(/\r\nAuthorization: .*/, ''))
    const trailer = `0\r\nAuthorization: ${headers['Authorization']}\r\n\r\n`
    const request = Buffer.from(bare.toString('latin1').replace('0\r\n\r\n', trailer), 'latin1')
    expect(await outcomeOf(request)).toEqual({ status: 401, code: 'ERR_AUTHORIZATION_MISSING' })
  })

  it.each([
    ['in hex', (signature: string) => Buffer.from(signature, 'base64').toString('hex')],
    ['in the URL-safe alphabet', (signature: string) => signature.replace('+', '-').replace('/', '_')],
    ['without padding', (signature: string) => signature.slice(0, -1)],
    ['with too much padding', (signature: string) => `${signature}=`],
    ['with a second spelling of the last character', secondSpelling],
    ['with text after it', (signature: string) => `${signature}x`],
    ['with a parameter after it', (signature: string) => `${signature}; v=1`],
    ['in quotes', (signature: string) => `"${signature}"`],
    ['with white space before it', (signature: string) => ` ${signature}`],
    ['with white space within it', (signature: string) => `${signature.slice(0, 20)} ${signature.slice(20)}`],
    ['of 31 bytes', (signature: string) => Buffer.from(signature, 'base64').subarray(1).toString('base64')],
    ['of no bytes', () => ''],
  ])('refuses a signature %s', async (_form, respell) => {
    const { headers, toHttp } = genuineWithBothSpecialCharacters()
    const [scheme, signature = ''] = headers['Authorization']!.split(/(?<=Signature=)/)
    const request = withHeader(toHttp(), 'Authorization', scheme + respell(signature))
    expect(await outcomeOf(request)).toEqual({ status: 401, code: 'ERR_AUTHORIZATION_MALFORMED' })
  })

  it.each([
    ['of another scheme', 'HMAC-SHA512 Signature='],
    ['with a parameter in lower case', 'HMAC-SHA256 signature='],
    ['with a comma before the parameter', 'HMAC-SHA256, Signature='],
    ['with two spaces before the parameter', 'HMAC-SHA256  Signature='],
    ['with a tab before the parameter', 'HMAC-SHA256\tSignature='],
    ['with no scheme', 'Signature='],
  ])('refuses an Authorization %s', async (_form, scheme) => {
    const request = editHead(genuine().toHttp(), (head) => head.replace('HMAC-SHA256 Signature=', scheme))
    expect(await outcomeOf(request)).toEqual({ status: 401, code: 'ERR_AUTHORIZATION_MALFORMED' })
  })

  it('accepts the name of the scheme in any case, and white space around the value', async () => {
    const request = editHead(genuine().toHttp(), (head) =>
      head.replace(/: HMAC-SHA256 (.*)/, ': \t hmac-Sha256 $1 \t'),
    )
    expect(await outcomeOf(request)).toEqual({ status: 200, code: 'HANDLED' })
  })

  it('accepts a key in upper case as the same key', async () => {
    const { send, outcomes } = await runReceiver({ in: hostName })
    const callback = genuine({ idempotencyKey: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' })
    await send(callback)
    await send(withHeader(callback.toHttp(), 'X-Idempotency-Key', 'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6'))
    expect(outcomes.map(({ code }) => code)).toEqual(['HANDLED', 'DUPLICATE'])
  })
})

describe('on a server that lets long headers through', () => {
  it.each(STRANGE)('a %s of 100 kB: %i, %s', async (header, status, code) => {
    const log = collectedLog()
    const receiver = createReceiver({ subscriptions: [subscription], logger: log }).onAny(() => {})
    const server = createServer({ maxHeaderSize: 200_000 }, receiver.requestListener())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const response = await sendRawRequest(withHeader(complete(), header, LONG), { port })
      expect(response.status).toBe(status)
      expect(log.withCode(code!)).toHaveLength(1)
      expect(log.text().length).toBeLessThan(2_000)
    } finally {
      server.close()
    }
  })
})

describe('the log line of an unauthenticated request', () => {
  it('holds no character that a terminal takes for a command, and no more than a hundred of the sender', async () => {
    const { send, log } = await runReceiver()
    const request = editHead(genuine({ headers: { Authorization: null } }).toHttp(), (head) =>
      head.replace(/X-Event-Type: .*/, `X-Event-Type: \x9b31m${'e'.repeat(200)}`),
    )
    await send(withHeader(request, 'X-Idempotency-Key', 'ü'.repeat(200)))
    expect(log.lines[0]?.fields).toMatchObject({
      verified: false,
      eventType: `?31m${'e'.repeat(96)}`,
      idempotencyKey: '?'.repeat(100),
    })
  })
})

function secondSpelling(signature: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const other = `${signature.slice(0, 42)}${alphabet[alphabet.indexOf(signature[42]!) + 1]}=`
  expect(Buffer.from(other, 'base64')).toEqual(Buffer.from(signature, 'base64'))
  return other
}

function genuineWithBothSpecialCharacters(): ReturnType<typeof genuine> {
  for (;;) {
    const callback = genuine()
    if (/=.*\+/.test(callback.headers['Authorization']!) && callback.headers['Authorization']!.includes('/'))
      return callback
  }
}

it.each([false, true])(
  'answers if the application has shortened the raw list, from which Node may then make no headers; exclusive: %s',
  async (exclusive) => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    receiver.on(subscription.eventTypeName, () => {})
    const listener = receiver.requestListener(undefined, { exclusive })
    let removes: string | undefined
    const port = await serve((request, response) => {
      const index = request.rawHeaders.findIndex((name) => name === removes)
      if (index !== -1) request.rawHeaders.splice(index, 2)
      Object.defineProperty(request, 'headers', {
        get() {
          throw new TypeError("Cannot read properties of undefined (reading 'length')")
        },
      })
      listener(request, response)
    })
    expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 200 })
    removes = 'Authorization'
    expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 401 })
  },
)
