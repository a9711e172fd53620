import { furtherProbes } from '../../src/diagnosis/doctor/further-probes.js'
import { createProbe } from '../../src/diagnosis/doctor/probe.js'
import { SECRET } from '../support/subscription.js'

const probe = createProbe({ secret: SECRET, eventTypeName: 'a.b', sentAtMs: 0 })
const url = new URL('https://partner.example.com/')
const options = { url, timeoutMs: 15_000, pauseMs: 4_000, maxBodyBytes: 1_048_576, offersHttp2: false }
const large = furtherProbes({ ...options, known: [] }).find(({ bodyBytes }) => bodyBytes !== undefined)!

test.each([
  ['was closed', 'ECONNRESET', 'body-limit'],
  ['took too long', 'ETIMEDOUT', 'no-answer'],
])('a large body whose connection %s (%s) is named %s', (_, error, name) => {
  const found = large.judge({ probe, error, startedAtMs: 0, durationMs: 15_000, pauseMs: 0 }, undefined)
  expect(found).toMatchObject([{ name, seen: error }])
})
