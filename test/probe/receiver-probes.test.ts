import { createHash, createHmac } from 'node:crypto'
import express from 'express'
import { createReceiver } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import type { Probe } from '../../src/diagnosis/doctor/probe.js'
import { markerText, probeKey } from '../../src/probe/marker.js'
import { hmacKey } from '../../src/signature/secret.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { withLines } from '../support/http-bytes.js'
import { HOST_NAMES, serve } from '../support/hosts.js'
import { FORGED, genuine, runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { bytesOf, probeOf, reportIn } from './probe-bytes.js'

const MARKER_HEADERS = { 'X-Countersign-Probe': null, 'User-Agent': 'curl/8' }

/** An answer to the byte, without the time. */
async function answerBytes(port: number, request: Buffer): Promise<string> {
  const { status, statusText, headers, body } = await sendRawRequest(request, { port })
  const { date: _, ...rest } = headers
  return JSON.stringify({ status, statusText, rest, body: body.toString('latin1') })
}

describe.each(HOST_NAMES)('a receiver in %s', (hostName) => {
  it('answers a probe with a signed report of what arrived, and no callback is counted', async () => {
    const { send, outcomes, log, handled } = await runReceiver({ in: hostName })
    const probe = probeOf()
    const answer = await send(bytesOf(probe))
    expect(answer.status).toBe(401)
    expect(reportIn(answer, probe)).toMatchObject({
      method: 'POST',
      path: '/hooks/transfers',
      httpVersion: '1.1',
      addressFamily: 'IPv4',
      contentLength: String(probe.body.length),
      isChunked: false,
      body: { bytes: probe.body.length, sha256: createHash('sha256').update(probe.body).digest('hex') },
      refusedFor: 'ERR_SIGNATURE_MISMATCH',
      maxBodyBytes: 1_048_576,
    })
    expect({ outcomes, handled }).toEqual({ outcomes: [], handled: [] })
    expect(log.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual(['info: probe answered'])
    expect(log.text()).not.toContain(SECRET)
  })
})

describe('a probe', () => {
  it.each([
    ['Authorization', { Authorization: null }, 'ERR_AUTHORIZATION_MISSING'],
    ['an intact Authorization', { Authorization: 'Basic YWJjOmRlZg==' }, 'ERR_AUTHORIZATION_MALFORMED'],
    ['Authorization-Timestamp', { 'Authorization-Timestamp': null }, 'ERR_TIMESTAMP_MISSING'],
    ['an identity encoding', { 'Content-Encoding': 'gzip' }, 'ERR_BODY_ENCODED'],
    [
      'its own header and Authorization',
      { Authorization: null, 'X-Countersign-Probe': null },
      'ERR_AUTHORIZATION_MISSING',
    ],
    ['markers in headers', MARKER_HEADERS, 'ERR_SIGNATURE_MISMATCH'],
  ])('is recognised without %s', async (_, changes, refusedFor) => {
    const { send } = await runReceiver()
    const probe = probeOf()
    const report = reportIn(await send(bytesOf(probe, changes)), probe)
    expect(report).toMatchObject({ refusedFor, body: { bytes: probe.body.length } })
  })

  it('is recognised without its body, and by the body that a parser has serialised again', async () => {
    const { send } = await runReceiver()
    const empty = probeOf()
    expect(reportIn(await send(bytesOf(empty, {}, Buffer.alloc(0))), empty)?.body?.bytes).toBe(0)
    const parsed = probeOf()
    const again = Buffer.from(JSON.stringify(JSON.parse(parsed.body.toString()), null, 2))
    expect(reportIn(await send(bytesOf(parsed, MARKER_HEADERS, again)), parsed)?.body?.bytes).toBe(
      again.length,
    )
  })

  it('names the scheme of a replaced Authorization, and no value of any header', async () => {
    const { send } = await runReceiver()
    const probe = probeOf()
    const answer = await send(
      bytesOf(probe, { Authorization: 'Basic c2VjcmV0', 'X-Internal': 'inner-token' }),
    )
    const report = reportIn(answer, probe)!
    expect(report.headers.find(({ name }) => name === 'authorization')).toMatchObject({ scheme: 'basic' })
    expect(report.headers.find(({ name }) => name === 'x-internal')).toMatchObject({ length: 11 })
    expect(JSON.stringify(report)).not.toMatch(/c2VjcmV0|inner-token/)
  })

  it('whose body a parser has read is reported as such', async () => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    receiver.on(subscription.eventTypeName, () => {})
    const app = express().use(express.json()).use(receiver.middleware())
    const port = await serve(app)
    const probe = probeOf()
    const report = reportIn(await sendRawRequest(bytesOf(probe), { port }), probe)
    expect(report).toMatchObject({ refusedFor: 'ERR_BODY_ALREADY_READ' })
    expect(report?.body).toBeUndefined()
  })

  it('is answered by receive() and fetch()', async () => {
    const receiver = createReceiver({ subscriptions: () => [subscription], logger: false })
    const first = probeOf()
    const received = await receiver.receive({
      method: 'POST',
      path: '/hooks/transfers',
      headers: first.headers,
      body: first.body,
    })
    expect(reportIn({ body: Buffer.from(received.body) }, first)).toMatchObject({ path: '/hooks/transfers' })
    const second = probeOf()
    const response = await receiver.fetch(
      new Request('https://partner.example.com/in', {
        method: 'POST',
        headers: second.headers,
        body: second.body.toString(),
      }),
    )
    expect(reportIn({ body: Buffer.from(await response.arrayBuffer()) }, second)).toMatchObject({
      path: '/in',
    })
  })

  it('stores nothing in an inbox', async () => {
    const inbox = new MemoryInbox()
    const { send, receiver } = await runReceiver({ inbox })
    await receiver.start()
    const probe = probeOf()
    expect(reportIn(await send(bytesOf(probe)), probe)).toBeDefined()
    const entries = (await inbox.list({})).entries
    await receiver.stop()
    expect(entries).toEqual([])
  })
})

describe('the ordinary 401, to the byte, is the answer to', () => {
  const key = probeKey(hmacKey(SECRET))
  const nonce = '3f6c9d2e-7a41-4c0b-9f5d-1e2a3b4c5d6e'

  it.each([
    [
      'a probe with the secret of another subscription',
      () => probeOf({ secret: 'another-secret-0123456789' }),
    ],
    ['a probe from before the window', () => probeOf({ sentAtMs: Date.now() - 301_000 })],
    // A busy machine may take seconds to send it.
    ['a probe from after the window', () => probeOf({ sentAtMs: Date.now() + 360_000 })],
  ])('%s', async (_, probe) => {
    const { port, outcomes } = await runReceiver()
    const ordinary = await answerBytes(port, bytesOf(probe(), { ...MARKER_HEADERS, Authorization: null }))
    expect(await answerBytes(port, bytesOf(probe()))).toBe(ordinary)
    expect(await answerBytes(port, bytesOf(probe(), { Authorization: null }))).toBe(ordinary)
    expect(await answerBytes(port, bytesOf(probe(), MARKER_HEADERS))).toBe(ordinary)
    expect(outcomes).toHaveLength(4)
  })

  it('a replayed probe, and every probe where probes is false', async () => {
    const { port } = await runReceiver()
    const off = await runReceiver({ probes: false })
    const ordinary = await answerBytes(port, genuine({ headers: { Authorization: FORGED } }).toHttp())
    const probe = bytesOf(probeOf())
    const [first, second] = await Promise.all([answerBytes(port, probe), answerBytes(port, probe)])
    expect([first, second].filter((answer) => answer === ordinary)).toHaveLength(1)
    expect(await answerBytes(port, probe)).toBe(ordinary)
    expect(await answerBytes(off.port, bytesOf(probeOf()))).toBe(ordinary)
  })

  it('a marker with the HMAC of the secret, and a callback with the HMAC of a marker', async () => {
    const { port } = await runReceiver()
    const ordinary = await answerBytes(port, genuine({ headers: { Authorization: FORGED } }).toHttp())
    const sentAtMs = Date.now()
    const byTheSecret = markerText({ nonce, sentAtMs }, hmacKey(SECRET))
    expect(
      await answerBytes(
        port,
        bytesOf(probeOf(), { 'X-Countersign-Probe': byTheSecret, 'User-Agent': 'x' }, Buffer.from('{}')),
      ),
    ).toBe(ordinary)
    const mac = Buffer.from(markerText({ nonce, sentAtMs }, key).split('.').at(-1)!, 'base64url')
    const asCallback = genuine({
      headers: { Authorization: `HMAC-SHA256 Signature=${mac.toString('base64')}` },
    })
    expect(await answerBytes(port, asCallback.toHttp())).toBe(ordinary)
  })
})

it('a genuine callback is never taken for a probe, whatever markers it has', async () => {
  const { send, handled, outcomes } = await runReceiver()
  const marker = probeOf().headers['X-Countersign-Probe']!
  const callback = genuine({
    payload: { countersignProbe: marker, Id: 'x' },
    headers: { 'X-Countersign-Probe': marker },
  })
  expect((await send(callback)).status).toBe(200)
  expect(handled).toHaveLength(1)
  expect(outcomes.map(({ code }) => code)).toEqual(['HANDLED'])
})

it('refuses the head of an unauthenticated request before its body, also with a forged marker', async () => {
  const { port } = await runReceiver()
  const forged = probeOf({ secret: 'another-secret-0123456789' })
  const head = bytesOf(forged, { Authorization: null, 'Content-Length': '1000' }, Buffer.alloc(0))
  // The body never comes, and the answer does not wait for it.
  expect((await sendRawRequest(head, { port })).status).toBe(401)
})

describe('the number of HMACs', () => {
  const hmacsOf = async (receive: () => Promise<unknown>): Promise<number> => {
    const spy = jest.spyOn(jest.requireActual<typeof import('node:crypto')>('node:crypto'), 'createHmac')
    try {
      await receive()
      return spy.mock.calls.length
    } finally {
      spy.mockRestore()
    }
  }
  /** For three hundred forged probes whose headers are changed like this. */
  const hmacsOfForged = async (change: (headers: Probe['headers']) => Probe['headers']): Promise<number> => {
    const { receiver } = await runReceiver({ logger: false })
    const probes = Array.from({ length: 300 }, () => probeOf({ secret: 'another-secret-0123456789' }))
    const statuses: number[] = []
    const hmacs = await hmacsOf(async () => {
      for (const { headers, body } of probes) {
        const request = { method: 'POST', path: '/hooks/transfers', headers: change(headers), body }
        statuses.push((await receiver.receive(request)).status)
      }
    })
    expect(statuses).toEqual(probes.map(() => 401))
    return hmacs
  }

  it('is the same for callbacks, genuine or forged, with and without doctor', async () => {
    const requests = Array.from({ length: 20 }, (_, index) =>
      genuine(index % 2 === 0 ? {} : { headers: { Authorization: FORGED } }).toHttp(),
    )
    for (const probes of [true, false]) {
      const { send } = await runReceiver({ probes, logger: false })
      const hmacs = await hmacsOf(async () => {
        for (const request of requests) await send(request)
      })
      expect(hmacs).toBe(20)
    }
  })

  it('is bounded for forged probes by the hundred', async () => {
    const hmacs = await hmacsOfForged((headers) => headers)
    // One each as a forged callback, and at most 120 a minute as a forged probe.
    expect(hmacs).toBeGreaterThan(300)
    expect(hmacs).toBeLessThanOrEqual(420)
  })

  it('of forged probes that no callback could be is at most the limit', async () => {
    expect(await hmacsOfForged(({ Authorization: _, ...headers }) => headers)).toBeLessThanOrEqual(120)
  })
})

it('a report cannot be forged, changed or used for another probe', async () => {
  const { send } = await runReceiver()
  const probe = probeOf()
  const { body } = await send(bytesOf(probe))
  const other = probeOf()
  expect(reportIn({ body }, other)).toBeUndefined()
  const changed = Buffer.from(body)
  changed[30] = changed[30] === 65 ? 66 : 65
  expect(reportIn({ body: changed }, probe)).toBeUndefined()
  const content = body.toString().split('.')[1]!
  const mac = createHmac('sha256', SECRET).update(`report\n${probe.nonce}\n${content}`).digest('base64url')
  expect(reportIn({ body: Buffer.from(`countersign-report-1.${content}.${mac}`) }, probe)).toBeUndefined()
})

it('a repeated header is reported line by line', async () => {
  const { send } = await runReceiver()
  const probe = probeOf()
  const report = reportIn(await send(withLines(bytesOf(probe), 'X-Event-Type: other')), probe)
  expect(report?.headers.filter(({ name }) => name === 'x-event-type')).toHaveLength(2)
})

it('doctor must be true or false', () => {
  const options = { subscriptions: [subscription], probes: 'no' as unknown as boolean }
  expect(() => createReceiver(options)).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION_INVALID', option: 'probes' }),
  )
})
