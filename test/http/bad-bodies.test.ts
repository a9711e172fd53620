import { randomUUID } from 'node:crypto'
import { gzipSync, brotliCompressSync, deflateSync } from 'node:zlib'
import fc from 'fast-check'
import type { OutcomeCode } from '../../src/index.js'
import { HOST_NAMES } from '../support/hosts.js'
import { cut } from '../support/http-bytes.js'
import { randomRuns } from '../support/random-runs.js'
import { genuine, runReceiver } from '../support/running-receiver.js'

const TEXT = '{"Id": "64b87e81-f9c7-4125-8565-b199c6e65b4f", "text": "Überweisung 付款 🏦"}'

/** Another text of the same length each time: one that is signed twice in a second would be taken for a replay. */
function someText(): string {
  return TEXT.replace(/[0-9a-f-]{36}/, randomUUID())
}

describe.each(HOST_NAMES)('in %s', (hostName) => {
  async function outcomeOf(body: string | Uint8Array, headers: Record<string, string> = {}) {
    const { send, handled, outcomes } = await runReceiver({ in: hostName })
    const { status } = await send(genuine({ body, headers }))
    return { status, code: outcomes[0]?.code, payload: handled[0]?.payload }
  }

  const refused = (status: number, code: OutcomeCode) => ({ status, code, payload: undefined })

  it('takes a body in chunks of any size', async () => {
    const { send, handled } = await runReceiver({ in: hostName })
    const sizes = fc.array(fc.integer({ min: 1, max: TEXT.length }), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(sizes, async (chunked) => {
        const { body, toHttp } = genuine({ body: someText() })
        expect(await send(toHttp({ chunked }))).toMatchObject({ status: 200 })
        expect(handled.at(-1)?.rawBody).toEqual(body)
      }),
      { numRuns: randomRuns(20) },
    )
  })

  it('takes a request that the network cuts anywhere', async () => {
    const { send, handled } = await runReceiver({ in: hostName })
    const length = genuine({ body: TEXT }).toHttp({ chunked: [10, 60] }).length
    const places = fc.uniqueArray(fc.integer({ min: 1, max: length - 1 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(places, async (unsorted) => {
        const request = genuine({ body: someText() }).toHttp({ chunked: [10, 60] })
        const pieces = cut(request, ...unsorted.toSorted((a, b) => a - b))
        expect(await send(pieces)).toMatchObject({ status: 200 })
        expect(handled.at(-1)?.payload['text']).toBe('Überweisung 付款 🏦')
      }),
      { numRuns: randomRuns(20) },
    )
  })

  it('takes a body that is cut within each of its characters', async () => {
    const { send, handled } = await runReceiver({ in: hostName })
    const bytes = Buffer.from(TEXT)
    for (let place = bytes.indexOf('Ü'); place < bytes.length - 2; place++) {
      const { body, toHttp } = genuine({ body: someText() })
      const request = toHttp()
      expect(await send(cut(request, request.length - body.length + place))).toMatchObject({ status: 200 })
      expect(handled.at(-1)?.rawBody).toEqual(body)
    }
  })

  it('refuses a signed body that is no UTF-8', async () => {
    const body = Buffer.from('{"Id": "\xff\xfe"}', 'latin1')
    expect(await outcomeOf(body)).toEqual(refused(400, 'ERR_BODY_NOT_JSON'))
  })

  it('refuses a signed body that ends within a character', async () => {
    expect(await outcomeOf(Buffer.from('{"Id": "Ü').subarray(0, -1))).toEqual(
      refused(400, 'ERR_BODY_NOT_JSON'),
    )
  })

  it('refuses UTF-8 that is longer than it need be', async () => {
    // A slash in two bytes, which lax decoders take for one.
    expect(await outcomeOf(Buffer.from('{"Id": "\xc0\xaf"}', 'latin1'))).toEqual(
      refused(400, 'ERR_BODY_NOT_JSON'),
    )
  })

  it('refuses a signed body in UTF-16', async () => {
    expect(await outcomeOf(Buffer.from(`\ufeff${TEXT}`, 'utf16le'))).toEqual(
      refused(400, 'ERR_BODY_NOT_JSON'),
    )
  })

  it('ignores a byte-order mark, which is signed like all else', async () => {
    expect(await outcomeOf(`\ufeff${TEXT}`)).toEqual({
      status: 200,
      code: 'HANDLED',
      payload: JSON.parse(TEXT),
    })
  })

  it('refuses two byte-order marks', async () => {
    expect(await outcomeOf(`\ufeff\ufeff${TEXT}`)).toEqual(refused(400, 'ERR_BODY_NOT_JSON'))
  })

  it.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['null', 'null'],
    ['a number', '1'],
    ['a string', '"{}"'],
    ['a list', '[]'],
    ['an object and more', '{} {}'],
    ['an object that does not end', '{"Id":'],
    ['a NUL', '{"Id": "\0"}'],
    ['a comment', '{} // {}'],
  ])('refuses a signed body of %s', async (_what, body) => {
    expect(await outcomeOf(body)).toEqual(refused(400, 'ERR_BODY_NOT_JSON'))
  })

  it('survives JSON that is 10,000 levels deep', async () => {
    const { payload, ...found } = await outcomeOf(
      `{"Id": "1", "deep": ${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
    )
    expect(found).toEqual({ status: 200, code: 'HANDLED' })
    expect(payload).toHaveProperty('Id', '1')
    expect(await outcomeOf('{"a":'.repeat(10_000))).toEqual(refused(400, 'ERR_BODY_NOT_JSON'))
  })

  it('delivers keys such as __proto__ as the keys they are', async () => {
    const body =
      '{"Id": "1", "__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "toString": 0}'
    const { code, payload } = await outcomeOf(body)
    expect(code).toBe('HANDLED')
    expect(JSON.stringify(payload)).toBe(JSON.stringify(JSON.parse(body)))
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype)
    expect(payload!['polluted']).toBeUndefined()
    expect(Object.prototype).not.toHaveProperty('polluted')
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['GZIP', gzipSync],
    ['identity, gzip', gzipSync],
  ])('refuses a body with Content-Encoding %s, although its bytes are signed', async (encoding, compress) => {
    expect(await outcomeOf(compress(TEXT), { 'Content-Encoding': encoding })).toEqual(
      refused(415, 'ERR_BODY_ENCODED'),
    )
  })

  it.each(['identity', 'Identity'])('takes a body with Content-Encoding %s', async (encoding) => {
    expect(await outcomeOf(TEXT, { 'Content-Encoding': encoding })).toMatchObject({ code: 'HANDLED' })
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'nonsense', ''])(
    'does not care for Content-Type %j',
    async (type) => {
      expect(await outcomeOf(TEXT, { 'Content-Type': type })).toMatchObject({ code: 'HANDLED' })
    },
  )

  it('takes a body of exactly the largest size, with and without its length', async () => {
    const { send } = await runReceiver({ in: hostName, maxBodyBytes: Buffer.byteLength(TEXT) })
    expect(await send(genuine({ body: someText() }))).toMatchObject({ status: 200 })
    expect(await send(genuine({ body: someText() }).toHttp({ chunked: true }))).toMatchObject({ status: 200 })
    expect(await send(genuine({ body: `${TEXT} ` }))).toMatchObject({ status: 413 })
    expect(await send(genuine({ body: `${TEXT} ` }).toHttp({ chunked: true }))).toMatchObject({ status: 413 })
  })
})
