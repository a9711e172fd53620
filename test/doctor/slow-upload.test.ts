import { slowUpload } from '../../src/diagnosis/doctor/further-probes.js'
import { createProbe } from '../../src/diagnosis/doctor/probe.js'
import type { ProbeReport } from '../../src/probe/report.js'
import { SECRET } from '../support/subscription.js'

const probe = createProbe({ secret: SECRET, eventTypeName: 'a.b', sentAtMs: 0 })
const exchange = { probe, startedAtMs: 0, durationMs: 4_010, pauseMs: 4_000 }
const read = { bytes: 300, sha256: '' }

function namesOf(arrived: Partial<ProbeReport>): string[] {
  const report = {
    refusedFor: 'ERR_SIGNATURE_MISMATCH',
    durationMs: 4_001,
    body: read,
    ...arrived,
  } as ProbeReport
  return slowUpload(exchange, report).map(({ name }) => name)
}

test('a body that the receiver waited for was forwarded in pieces', () => {
  expect(namesOf({})).toEqual([])
})

test('a body that arrived at once was collected on the way', () => {
  expect(namesOf({ durationMs: 3 })).toEqual(['body-buffered'])
})

test.each([
  ['did not arrive', { bytes: 0, sha256: '' }],
  ['was not read', undefined],
])('a body that %s shows nothing', (_, body) => {
  expect(namesOf({ durationMs: 3, body })).toEqual([])
})
