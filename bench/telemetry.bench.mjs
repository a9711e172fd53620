import { startServers } from './receiver.bench.mjs'
import { median, ratio } from './statistics.mjs'

const SERVERS = [
  'mounted',
  'mounted, once more',
  'mounted, Prometheus',
  'mounted, traces',
  'mounted, traces, not sampled',
  'mounted, context manager',
  'mounted, SDK alone: one span',
  'mounted, SDK alone: two spans',
  'mounted, SDK alone: two spans, not sampled',
  'mounted, metrics of OpenTelemetry',
]

/** What metrics and traces cost a receiver that handles before the answer. */
export async function benchTelemetry({ quick }) {
  const results = await startServers(SERVERS, {
    rounds: quick ? 6 : 24,
    roundSeconds: quick ? 0.3 : 0.6,
    warmUp: quick ? 1500 : 4000,
  })
  const series = (name, field) => results[name].map((result) => result[field])
  const perSecond = (name, baseline, aim) => ({
    part: 'telemetry',
    what: `${name}, callbacks per second`,
    measured: `${Math.round(median(series(name, 'perSecond')))}/s`,
    ...(baseline && {
      ratio: ratio(series(name, 'perSecond'), series(baseline, 'perSecond')),
      of: `÷ ${baseline}`,
      aim,
    }),
  })
  const cpu = (name, baseline) => ({
    part: 'telemetry',
    what: `${name}, processor time per callback`,
    measured: `${(median(series(name, 'cpuPerRequest')) * 1e6).toFixed(1)} µs`,
    ...(baseline && {
      ratio: ratio(series(name, 'cpuPerRequest'), series(baseline, 'cpuPerRequest')),
      of: `÷ ${baseline}`,
    }),
  })
  return [
    perSecond('mounted'),
    perSecond('mounted, once more', 'mounted'),
    perSecond('mounted, Prometheus', 'mounted', { atLeast: 0.98 }),
    perSecond('mounted, traces', 'mounted', { atLeast: 0.95 }),
    perSecond('mounted, traces, not sampled', 'mounted', { atLeast: 0.95 }),
    perSecond('mounted, SDK alone: one span', 'mounted'),
    perSecond('mounted, SDK alone: two spans', 'mounted'),
    perSecond('mounted, traces', 'mounted, SDK alone: two spans'),
    perSecond('mounted, context manager', 'mounted'),
    perSecond('mounted, metrics of OpenTelemetry', 'mounted'),
    cpu('mounted'),
    cpu('mounted, once more', 'mounted'),
    cpu('mounted, Prometheus', 'mounted'),
    cpu('mounted, traces', 'mounted'),
    cpu('mounted, traces, not sampled', 'mounted'),
    cpu('mounted, SDK alone: two spans, not sampled', 'mounted'),
    cpu('mounted, SDK alone: one span', 'mounted'),
    cpu('mounted, SDK alone: two spans', 'mounted'),
    cpu('mounted, traces', 'mounted, SDK alone: two spans'),
    cpu('mounted, metrics of OpenTelemetry', 'mounted'),
  ]
}
