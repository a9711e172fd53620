import { join } from 'node:path'
import { forwardedEvent, forwardTo } from '../../src/bullmq.js'
import { parsePayload } from '../../src/callback/payload.js'
import type { CallbackEvent } from '../../src/index.js'
import { loadRecordedRequests, parseRecordedRequest } from '../../src/testing/recorded-requests.js'
import { ENGINES } from '../support/job-queues.js'
import { genuine, runReceiver } from '../support/running-receiver.js'
import { sharedStore } from '../support/stores.js'
import { until } from '../support/until.js'

const ODD = [
  '{"Id":"1"}\r\n\r\n',
  '\uFEFF{"Id":"1"}',
  String.raw`{"Id":"\u0000 \ud800 \u2028 \/"}`,
  '{"Id":"\u2028\u2029\u007f\u0085\uFFFE"}',
  '{"Id":"Grüße, 世界, 👩‍👩‍👧, e\u0301"}',
  '{"Id":"1","Id":"2","__proto__":{"a":1},"n":1e400,"m":-0,"k":12345678901234567890}',
  `{ "Id" : "${'x'.repeat(200_000)}" }`,
]

describe.each(ENGINES.filter(({ installed }) => installed))('on $name', ({ start }) => {
  it('the worker gets the bytes of every body as they were signed, and the same event', async () => {
    const engine = await start()
    try {
      const queue = engine.queue()
      const { send, handled } = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
      const bodies = [...(await recordedBodies()), ...ODD.map((body) => Buffer.from(body))]
      expect(bodies.length).toBeGreaterThan(ODD.length)
      for (const body of bodies) expect((await send(genuine({ body }))).status).toBe(200)

      const forwarded = new Map<string, CallbackEvent>()
      const worker = engine.worker(queue, async (job) => {
        const event = forwardedEvent(job)
        forwarded.set(event.idempotencyKey, event)
      })
      await until(() => forwarded.size === bodies.length)
      await worker.close()
      for (const [index, event] of handled.entries()) {
        const arrived = forwarded.get(event.idempotencyKey)!
        expect(arrived.rawBody.equals(bodies[index]!)).toBe(true)
        expect(arrived).toStrictEqual(event)
      }
    } finally {
      await engine.close()
    }
  })
})

/** The different bodies of recorded requests that a receiver would give to a handler. */
async function recordedBodies(): Promise<Buffer[]> {
  const requests = await loadRecordedRequests(join(__dirname, '../../fixtures/recorded'))
  const bodies = requests.map(({ bytes }) => parseRecordedRequest(bytes).body)
  const handled = bodies.filter((body) => parsePayload(body) !== undefined)
  return [...new Map(handled.map((body) => [body.toString('hex'), body])).values()]
}
