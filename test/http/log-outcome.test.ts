import { performance } from 'node:perf_hooks'
import { genuine, runReceiver, type RunOptions } from '../support/running-receiver.js'

const fails = () => Promise.reject(new Error('no'))

it.each<[string, string, RunOptions, Parameters<typeof genuine>[0]]>([
  ['HANDLED', 'info', {}, {}],
  ['ERR_AUTHORIZATION_MISSING', 'warn', {}, { headers: { Authorization: null } }],
  ['ERR_HANDLER_FAILED', 'error', { handler: fails }, {}],
  ['ERR_STORE_UNAVAILABLE', 'error', { store: { retentionMs: Infinity, claim: fails } }, {}],
])('%s is logged as %s, with how long it took', async (code, level, options, callback) => {
  const { send, log } = await runReceiver(options)
  const startedAt = performance.now()
  await send(genuine(callback))
  const elapsedMs = performance.now() - startedAt
  expect(log.lines).toMatchObject([{ level, fields: { code, durationMs: expect.any(Number) } }])
  const { durationMs } = log.lines[0]!.fields
  expect(durationMs).toBeGreaterThan(0)
  expect(durationMs).toBeLessThan(elapsedMs)
})
