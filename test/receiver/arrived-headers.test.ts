import { headerKeeper } from '../../src/receiver/arrived-headers.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine } from '../support/running-receiver.js'

describe('headerKeeper', () => {
  it('keeps names and values as they arrived, repeats included', () => {
    const lines = ['Host', 'partner.example.com', 'X-Forwarded-For', '1', 'x-forwarded-for', '2']
    expect(headerKeeper()(lines)).toEqual({
      pairs: [
        ['Host', 'partner.example.com'],
        ['X-Forwarded-For', '1'],
        ['x-forwarded-for', '2'],
      ],
      isCut: false,
    })
  })

  it('keeps what identifies the callback and when it was signed', () => {
    const lines = ['Authorization-Timestamp', 'Tue, 03 Nov 2026 09:14:27 GMT', 'X-Idempotency-Key', 'a']
    expect(headerKeeper()(lines).pairs).toHaveLength(2)
  })

  it.each([
    'Authorization',
    'PROXY-AUTHORIZATION',
    'Cookie',
    'Set-Cookie',
    'X-Signature',
    'X-Hub-Hmac',
    'X-Original-Authorization',
    'X-Auth-Request-Token',
    'X-Api-Key',
    'X-Client-Secret',
    'Ocp-Apim-Subscription-Key',
    'X-Sig',
    'X-Goog-IAP-JWT-Assertion',
    'X-Amzn-Oidc-Data',
    'X-CSRF',
  ])('leaves out %s', (name) => {
    expect(headerKeeper()([name, 'value', 'Host', 'a'])).toEqual({ pairs: [['Host', 'a']], isCut: false })
  })

  it.each([
    'HMAC-SHA256 Signature=abc',
    'Lm5bB6iKCiRqMyGDe0Y0A1uhsQVNvVKnqKp4XvXFDjA=',
    'v1,Lm5bB6iKCiRqMyGDe0Y0A1uhsQVNvVKnqKp4XvXFDjA=',
    'Bearer abc',
    'AWS4-HMAC-SHA256 Credential=AKIA/x',
    'OAuth abc',
    'DPoP abc',
    'NTLM abc',
    'Basic YWRhOmFkYQ==',
    'eyJhbGciOiJIUzI1NiJ9.e30.abc',
  ])('leaves out %s, whatever the header is called', (value) => {
    expect(headerKeeper()(['X-Copy', value]).pairs).toEqual([])
  })

  it.each([
    ['/callbacks?code=hidden', '/callbacks'],
    ['https://partner.example.com/callbacks?code=hidden', 'https://partner.example.com/callbacks'],
    ['/callbacks', '/callbacks'],
    ['is it a question?', 'is it a question?'],
    ['Mozilla/5.0 (+https://sender.example/?a)', 'Mozilla/5.0 (+https://sender.example/?a)'],
  ])('keeps no query of an address: %s', (value, kept) => {
    expect(headerKeeper()(['X-Original-URL', value]).pairs).toEqual([['X-Original-URL', kept]])
  })

  it('examines hostile values in linear time', () => {
    const value = (pattern: string) => pattern.repeat(100_000 / pattern.length)
    const started = process.cpuUsage()
    for (const pattern of ['/', 'a', ' ', '://', 'eyJ', 'eyJ-', 'a='.padStart(42, 'b'), '\t/'])
      expect(headerKeeper()(['x', value(pattern), 'y', `/${value(pattern)}`])).toMatchObject({ isCut: true })
    // Quadratic time would be several seconds.
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000)
  })

  it('cuts what is beyond 4 KiB, and says so', () => {
    const pairs = Array.from({ length: 50 }, (_, index) => [`x-name-${10 + index}`, 'v'.repeat(91)])
    const kept = headerKeeper()(pairs.flat())
    expect(kept.isCut).toBe(true)
    expect(kept.pairs.flat().join('')).toHaveLength(4_096)
    expect(kept.pairs.at(-1)).toEqual(['x-name-50', 'v'.repeat(4_096 - 40 * 100 - 9)])
    expect(headerKeeper()(['a', 'v'.repeat(4_095)])).toEqual({
      pairs: [['a', 'v'.repeat(4_095)]],
      isCut: false,
    })
    expect(headerKeeper()(['a'.repeat(5_000), 'v'])).toEqual({ pairs: [], isCut: true })
  })
})

describe('a receiver with an inbox', () => {
  it('stores the headers without the signature, and the Id of the body', async () => {
    const { send, inbox } = await runInboxReceiver()
    const callback = genuine({ body: JSON.stringify({ Id: 'transfer 1' }) })
    await send(callback)
    const [found] = (await inbox.list({ bodyId: 'transfer 1' })).entries
    const { headers } = (await inbox.show(found!.id))!
    const names = headers!.pairs.map(([name]) => name.toLowerCase())
    expect(names).toEqual(
      expect.arrayContaining(['x-idempotency-key', 'authorization-timestamp', 'content-length']),
    )
    expect(names).not.toContain('authorization')
    expect(headers!.isCut).toBe(false)
  })

  it('stores the lines behind a number, which serverless adapters give as the Content-Length', async () => {
    const { receiver, inbox, becomes } = await runInboxReceiver()
    const { method, path, headers, body } = genuine()
    const rawHeaders = [
      'content-length',
      body.length as unknown as string,
      'x-a',
      'b',
      ...Object.entries(headers).flat(),
    ]
    await receiver.receive({ method, path, rawHeaders, body })
    await becomes('1', 'handled')
    const { pairs, isCut } = (await inbox.show('1'))!.headers!
    expect(isCut).toBe(false)
    expect(pairs.slice(0, 2)).toEqual([
      ['content-length', String(body.length)],
      ['x-a', 'b'],
    ])
  })

  it('stores the Id of the body of a suspect callback as well', async () => {
    const { send, inbox } = await runInboxReceiver({ toleranceMs: 1_000 })
    await send(
      genuine({ body: JSON.stringify({ Id: 'transfer 1' }), timestamp: 'Tue, 03 Nov 2020 09:14:27 GMT' }),
    )
    expect((await inbox.list({ bodyId: 'transfer 1' })).entries).toMatchObject([{ state: 'quarantined' }])
  })

  it.each([{ Id: 7 }, { Id: '' }, { Id: 'x'.repeat(201) }, {}, { id: 'a' }])(
    'stores no Id of %j',
    async (body) => {
      const { send, inbox, becomes } = await runInboxReceiver()
      await send(genuine({ body: JSON.stringify(body) }))
      await becomes('1', 'handled')
      expect((await inbox.show('1'))!.bodyId).toBeUndefined()
    },
  )

  it('decides the same about a name that it has seen before, and about any number of names', () => {
    const keep = headerKeeper()
    for (let index = 0; index < 300; index++) keep([`X-${index}`, 'a', `X-Token-${index}`, 'b'])
    const lines = ['X-1', 'a', 'X-Token-1', 'b', 'X-299', 'a', 'X-Token-299', 'b']
    expect(keep(lines).pairs).toEqual([
      ['X-1', 'a'],
      ['X-299', 'a'],
    ])
  })
})
