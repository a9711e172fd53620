import { createHash, createHmac } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import {
  loadRecordedRequests,
  parseRecordedRequest,
  recordedAt,
  recordedSubscriptions,
  replayRecordedRequest,
  type ParsedRequest,
  type RecordedRequest,
} from '../../src/testing/recorded-requests.js'
import { randomRuns } from '../support/random-runs.js'

const FIXTURES = join(__dirname, '../../fixtures/recorded')

let recorded: RecordedRequest[]
beforeAll(async () => {
  recorded = await loadRecordedRequests(FIXTURES)
})

function named(name: string): RecordedRequest {
  return recorded.find((request) => request.name === name) as RecordedRequest
}

function header({ rawHeaders }: ParsedRequest, name: string): string | undefined {
  const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name)
  return at === -1 ? undefined : rawHeaders[at + 1]
}

describe('the recorded fixtures', () => {
  it('are all there, sorted by name', () => {
    const names = recorded.map(({ name }) => name)
    expect(names).toEqual([...names].sort())
    expect(names).toHaveLength(18)
  })

  it('have the bytes of their files', async () => {
    for (const { name, bytes } of recorded)
      expect(bytes).toEqual(await readFile(join(FIXTURES, `${name}.http`)))
  })

  it('are each one HTTP/1.1 POST', () => {
    for (const { bytes } of recorded)
      expect(parseRecordedRequest(bytes)).toMatchObject({ method: 'POST', httpVersion: '1.1' })
  })

  it('carry the signature of SERVICE 5.1 where they are to be accepted', () => {
    const accepted = recorded.filter(({ expect }) => expect.outcome !== 'refused')
    expect(accepted.length).toBeGreaterThan(5)
    for (const { name, bytes, subscription } of accepted) {
      const request = parseRecordedRequest(bytes)
      const { pathname, search, host } = new URL(subscription.callbackUrl)
      const bodyHash = createHash('sha256').update(request.body).digest('base64')
      const text = `${pathname}${search}\n${header(request, 'authorization-timestamp')};${host};${bodyHash}`
      const signature = createHmac('sha256', subscription.secret).update(text).digest('base64')
      expect([name, header(request, 'authorization')]).toEqual([name, `HMAC-SHA256 Signature=${signature}`])
    }
  })

  it('share three subscriptions', () => {
    expect(recordedSubscriptions(recorded).map(({ callbackUrl }) => callbackUrl)).toEqual([
      'https://partner.example.com/hooks/transfers',
      'https://partner.example.com/hooks/transfers?tenant=42&mode=live',
      'https://partner.example.com:8443/hooks/transfers',
    ])
  })
})

describe('recordedAt', () => {
  it('is the time that was signed', () => {
    expect(recordedAt(named('curl'))).toEqual(new Date('2026-11-03T09:14:27Z'))
    expect(recordedAt(named('second-delivery'))).toEqual(new Date('2026-11-03T09:19:27Z'))
  })

  it('is undefined without a timestamp, or with one that is no HTTP date', () => {
    expect(recordedAt(named('no-timestamp'))).toBeUndefined()
    const bytes = Buffer.from('POST / HTTP/1.1\r\nAuthorization-Timestamp: yesterday\r\n\r\n')
    expect(recordedAt({ bytes })).toBeUndefined()
  })

  it('is a valid Date or undefined for arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(recordedAt({ bytes: Buffer.from(bytes) })?.getTime()).not.toBeNaN()
      }),
    )
  })
})

describe('recordedSubscriptions', () => {
  it('tells subscriptions apart by each of their fields', () => {
    const one = { eventTypeName: 'a', callbackUrl: 'https://a.example/', secret: 's' }
    const all = [
      one,
      { ...one },
      { ...one, eventTypeName: 'b' },
      { ...one, callbackUrl: 'https://b.example/' },
    ]
    const subscriptions = [...all, { ...one, secret: 't' }].map((subscription) => ({ subscription }))
    expect(recordedSubscriptions(subscriptions)).toHaveLength(4)
  })
})

describe('a folder of recorded requests', () => {
  const description = {
    sender: 'curl',
    subscription: { eventTypeName: 'a.b', callbackUrl: 'https://a.example/', secret: 'hush-hush' },
    expect: { status: 200, outcome: 'handled' },
    note: '',
  }
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recorded-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function loading(files: Record<string, string>): Promise<unknown> {
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
    return loadRecordedRequests(folder)
  }

  it('may hold other files, and requests that are no HTTP', async () => {
    await mkdir(join(folder, 'more'))
    expect(
      await loading({ 'README.md': '', 'a.http': '\0\n', 'a.json': JSON.stringify(description) }),
    ).toEqual([{ name: 'a', bytes: Buffer.from('\0\n'), ...description }])
  })

  it.each([
    ['with bytes that nothing describes', { 'a.http': '' }, 'a.http has no a.json beside it'],
    ['with a description without bytes', { 'a.json': '{}' }, 'a.json has no a.http beside it'],
    ['that holds none', { 'README.md': '' }, 'holds no NAME.http'],
  ])('is refused %s', async (_, files, message) => {
    await expect(loading(files as Record<string, string>)).rejects.toMatchObject({
      code: 'ERR_RECORDED_REQUEST_INVALID',
      message: expect.stringContaining(message),
    })
  })

  it('is refused when it does not exist, with its name', async () => {
    const missing = join(folder, 'missing')
    await expect(loadRecordedRequests(missing)).rejects.toMatchObject({ code: 'ENOENT', path: missing })
  })

  const { subscription, expect: expected } = description
  it.each([
    ['sender', { ...description, sender: '' }],
    ['subscription.eventTypeName', { ...description, subscription: null }],
    [
      'subscription.callbackUrl',
      { ...description, subscription: { ...subscription, callbackUrl: '/hooks' } },
    ],
    [
      'subscription.callbackUrl',
      { ...description, subscription: { ...subscription, callbackUrl: 'ftp://a/' } },
    ],
    ['subscription.secret', { ...description, subscription: { ...subscription, secret: 7 } }],
    ['expect.status', { ...description, expect: { ...expected, status: '200' } }],
    ['expect.status', { ...description, expect: { ...expected, status: 20 } }],
    ['expect.outcome', { ...description, expect: { status: 200 } }],
    ['note', { ...description, note: undefined }],
    ['sender', []],
    ['sender', null],
  ])('is refused when %s is wrong, naming the file and the field', async (field, json) => {
    await expect(loading({ 'a.http': '', 'a.json': JSON.stringify(json) })).rejects.toMatchObject({
      code: 'ERR_RECORDED_REQUEST_INVALID',
      message: expect.stringContaining(`a.json must have "${field}": `),
    })
  })

  it('never shows a secret in an error', async () => {
    const error = await loading({
      'a.http': '',
      'a.json': JSON.stringify(description).replace('"hush', 'hush'),
    }).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ message: expect.stringContaining('a.json is not JSON') })
    expect(String((error as Error).stack)).not.toContain('hush')
  })
})

describe('parseRecordedRequest', () => {
  const parse = (text: string) => parseRecordedRequest(Buffer.from(text, 'latin1'))

  it('keeps header names as they are, and values as Latin-1 without the space around them', () => {
    expect(parse('GET /a?b HTTP/1.0\r\nhOst:a\r\nX-A: \t\xfc \xa0 \r\nX-A:\r\n\r\n')).toEqual({
      method: 'GET',
      target: '/a?b',
      httpVersion: '1.0',
      rawHeaders: ['hOst', 'a', 'X-A', '\xfc \xa0', 'X-A', ''],
      body: Buffer.alloc(0),
    })
  })

  it('reads a view into a larger buffer', () => {
    const larger = new TextEncoder().encode('xxGET / HTTP/1.1\r\n\r\nxx')
    expect(parseRecordedRequest(larger.subarray(2, -2)).target).toBe('/')
  })

  it.each([
    ['nothing', '', 'empty line that ends its headers is missing'],
    ['header lines that end in LF', 'POST / HTTP/1.1\nHost: a\n\n{}', 'end in LF instead of CRLF'],
    ['one header line that ends in LF', 'POST / HTTP/1.1\r\nA: 1\nHost: a\r\n\r\n', 'header line 1'],
    ['a space before a colon', 'POST / HTTP/1.1\r\nHost : a\r\n\r\n', 'header line 1'],
    ['a folded header', 'POST / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n', 'header line 2'],
    ['a NUL in a header', 'POST / HTTP/1.1\r\nHost: a\0\r\n\r\n', 'header line 1'],
    ['no request line', 'HTTP/1.1 200 OK\r\n\r\n', 'request line'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'request line'],
    ['a body cut short', 'POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n{}', 'shorter than announced'],
    [
      'a chunked body cut short',
      'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n',
      'shorter',
    ],
    ['an added line end', 'POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}\n', '1 bytes follow its end'],
    ['a body without a length', 'POST / HTTP/1.1\r\n\r\n{}', '2 bytes follow its end'],
    ['two lengths', 'POST / HTTP/1.1\r\nContent-Length: 0\r\ncontent-length: 0\r\n\r\n', 'more than once'],
    [
      'a length beside chunks',
      'POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'more than once',
    ],
    ['a length with a sign', 'POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\n{}', 'not a decimal number'],
    ['an unknown encoding', 'POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n', 'not "chunked"'],
    [
      'a chunk longer than its size',
      'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{} }0\r\n\r\n',
      'as long',
    ],
    [
      'a chunk size with a prefix',
      'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n',
      'its size',
    ],
  ])('refuses %s', (_, text, message) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({
        code: 'ERR_RECORDED_REQUEST_MALFORMED',
        message: expect.stringContaining(message),
      }),
    )
  })

  it('answers arbitrary bytes with a request or its own error', () => {
    const start = fc.constantFrom(
      '',
      'POST / HTTP/1.1\r\n',
      'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 200 }), (text, rest) => {
        try {
          parseRecordedRequest(Buffer.concat([Buffer.from(text), rest]))
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_RECORDED_REQUEST_MALFORMED' })
        }
      }),
      { numRuns: randomRuns(2_000) },
    )
  })

  it('reads a megabyte of anything in no time', () => {
    const started = performance.now()
    for (const filler of [' ', '\t', 'a', ':', ';', '0\r\n', ' a'])
      for (const before of [
        '',
        'POST / HTTP/1.1\r\nA:',
        'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n',
      ])
        expect(() => parse(`${before}${filler.repeat(1_000_000 / filler.length)}\0\r\n\r\n`)).toThrow()
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})

describe('beside the parser of Node', () => {
  let server: Server
  let port: number
  let seen: ParsedRequest | undefined

  beforeAll(async () => {
    server = createServer({ requireHostHeader: false }, async (req, res) => {
      const chunks: Buffer[] = []
      try {
        for await (const chunk of req) chunks.push(chunk)
      } catch {
        return
      }
      const { method = '', url: target = '', httpVersion, rawHeaders } = req
      seen = { method, target, httpVersion, rawHeaders, body: Buffer.concat(chunks) }
      res.writeHead(200, { Connection: 'close' }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })

  async function readByNode(bytes: Buffer): Promise<ParsedRequest | undefined> {
    seen = undefined
    const { status } = await replayRecordedRequest({ bytes }, { port })
    return status === 200 ? seen : undefined
  }

  it('every fixture reads the same', async () => {
    for (const { bytes } of recorded) expect(parseRecordedRequest(bytes)).toEqual(await readByNode(bytes))
  })

  it('a damaged request is refused by one of the two, or reads the same', async () => {
    const damage = fc.record({
      index: fc.nat(recorded.length - 1),
      at: fc.nat(600),
      removed: fc.nat(3),
      added: fc.oneof(
        fc.uint8Array({ maxLength: 3 }),
        fc.constantFrom('\r\n', ' ', '\t', ':', 'a: b\r\n', '\n'),
      ),
    })
    const runs = randomRuns(400)
    let compared = 0
    await fc.assert(
      fc.asyncProperty(damage, async ({ index, at, removed, added }) => {
        const { bytes } = recorded[index] as RecordedRequest
        const damaged = Buffer.concat([
          bytes.subarray(0, at),
          Buffer.from(added as string),
          bytes.subarray(at + removed),
        ])
        let parsed: ParsedRequest
        try {
          parsed = parseRecordedRequest(damaged)
        } catch {
          return
        }
        const byNode = await readByNode(damaged)
        if (byNode) expect(parsed).toEqual(byNode)
        compared += byNode ? 1 : 0
      }),
      { numRuns: runs },
    )
    expect(compared).toBeGreaterThan(runs / 8)
  })
})
