import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startServers } from './receiver.bench.mjs'
import { median, ratio } from './statistics.mjs'

const SERVERS = [
  'bare express',
  'mounted, inbox',
  'mounted, one transaction each',
  'standalone, append-only file',
  'standalone, inbox',
]

/** Durably accepted callbacks per second, and what entries cost in an inbox that is nearly empty or very full. */
export async function benchInbox(options) {
  const rows = []
  for (const connections of [64, 256]) rows.push(...(await accept(connections, options)))
  return [...rows, ...costs(options)]
}

async function accept(connections, { quick }) {
  const { rounds, roundSeconds } = quick
    ? { rounds: 4, roundSeconds: 0.25 }
    : { rounds: 14, roundSeconds: 0.6 }
  const results = await startServers(SERVERS, {
    rounds,
    roundSeconds,
    warmUp: quick ? 1000 : 3000,
    connections,
  })
  const series = (name, field) => results[name].map((result) => result[field])
  const row = (name, baseline, aim) => ({
    part: 'inbox',
    what: `${name}, ${connections} connections`,
    measured: `${Math.round(median(series(name, 'perSecond')))}/s`,
    ...(baseline && {
      ratio: ratio(series(name, 'perSecond'), series(baseline, 'perSecond')),
      of: `${name} ÷ ${baseline}`,
      aim,
    }),
  })
  return [
    row('mounted, inbox', 'bare express', { atLeast: 0.7 }),
    row('mounted, one transaction each', 'bare express'),
    row('standalone, inbox', 'standalone, append-only file', { atLeast: 0.5 }),
    {
      part: 'inbox',
      what: `mounted, inbox, ${connections} connections, 99th percentile`,
      measured: `${(median(series('mounted, inbox', 'p99')) * 1000).toFixed(1)} ms`,
      ratio: ratio(series('mounted, inbox', 'p99'), series('bare express', 'p99')),
      of: 'mounted, inbox ÷ bare express',
      aim: { atMost: 1.2 },
    },
  ]
}

function costs({ quick }) {
  const file = fileURLToPath(new URL('inbox/costs.mjs', import.meta.url))
  const sizes = quick ? [1_000, 20_000] : [1_000, 100_000, 1_000_000]
  const { perEntry, worker } = JSON.parse(
    execFileSync(process.execPath, [file, ...sizes.map(String)], { encoding: 'utf8' }),
  )
  const [least] = perEntry
  const rows = perEntry.flatMap(({ size, addUs, claimUs }) => [
    cost(`add, ${size.toLocaleString('en')} entries in the file`, addUs, least.addUs),
    cost(`claim and complete, ${size.toLocaleString('en')} entries in the file`, claimUs, least.claimUs),
  ])
  return [
    ...rows,
    { part: 'inbox', what: 'worker, no-op handler', measured: `${Math.round(worker)} entries/s` },
  ]
}

function cost(what, us, least) {
  return {
    part: 'inbox',
    what,
    measured: `${us.toFixed(1)} µs`,
    value: us / least,
    of: '× that of 1,000 entries',
  }
}
