import { createHash, createHmac } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import {
  loadRecordedRequests,
  parseRecordedRequest,
  recordedSubscriptions,
  signedAtOf,
  type ParsedRequest,
  type RecordedRequest,
} from '../../src/testing/recorded-requests.js'

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

describe('signedAt', () => {
  it('is the time that was signed', () => {
    expect(named('curl').signedAt).toEqual(new Date('2026-11-03T09:14:27Z'))
    expect(named('second-delivery').signedAt).toEqual(new Date('2026-11-03T09:19:27Z'))
  })

  it('is undefined without a timestamp, or with one that is no HTTP date', () => {
    expect(named('no-timestamp').signedAt).toBeUndefined()
    const bytes = Buffer.from('POST / HTTP/1.1\r\nAuthorization-Timestamp: yesterday\r\n\r\n')
    expect(signedAtOf(bytes)).toBeUndefined()
  })

  it('is a valid Date or undefined for arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(signedAtOf(Buffer.from(bytes))?.getTime()).not.toBeNaN()
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

  async function loading(files: Record<string, string | undefined>): Promise<unknown> {
    for (const [file, text] of Object.entries(files))
      if (text !== undefined) await writeFile(join(folder, file), text)
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

  it.each(['a.http', 'a.json'])('is refused when %s cannot be read, with its name', async (file) => {
    await mkdir(join(folder, file))
    const files = { 'a.http': '', 'a.json': JSON.stringify(description), [file]: undefined }
    await expect(loading(files)).rejects.toMatchObject({
      code: 'ERR_RECORDED_REQUEST_INVALID',
      message: `${join(folder, file)} cannot be read (EISDIR): it must be a file that this user can read.`,
    })
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
