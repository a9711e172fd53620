import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startChild, startServers } from './receiver.bench.mjs'
import { median, ratio } from './statistics.mjs'

const SERVERS = [
  'bare express',
  'mounted, inbox',
  'mounted, one transaction each',
  'standalone, append-only file',
  'standalone, inbox',
]

/**
 * Durably accepted callbacks per second, how late the answers are, and what entries cost in an inbox that is nearly empty or very
 * full.
 */
export async function benchInbox(options) {
  const rows = []
  for (const connections of options.quick ? [64] : [64, 256])
    rows.push(...(await accept(connections, options)))
  rows.push(...(await endToEnd(options)))
  for (const load of options.quick ? [0.5] : [0.25, 0.5, 0.75]) rows.push(...(await latency(load, options)))
  return [...rows, ...(await drain(options)), ...costs(options)]
}

async function accept(connections, { quick }) {
  const { rounds, roundSeconds } = quick
    ? { rounds: 2, roundSeconds: 0.25 }
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

/** Callbacks that were stored, claimed, handled by a handler that does nothing, and recorded as handled. */
async function endToEnd({ quick }) {
  const baseline = 'bare express'
  const isNode20 = process.versions.node.startsWith('20.')
  const aims = { 'mounted, end to end': isNode20 ? 0.8 : 0.5, 'standalone, end to end': isNode20 ? 1.5 : 0.7 }
  const names = Object.keys(aims)
  const options = quick
    ? { rounds: 2, roundSeconds: 0.25, warmUp: 1000 }
    : { rounds: 14, roundSeconds: 0.6, warmUp: 3000 }
  const least = 'least program'
  const results = await startServers([baseline, least, ...names], options)
  const series = (name, field) => results[name].map((result) => result[field])
  return names.flatMap((name) => [
    {
      part: 'inbox',
      what: `${name}, recorded as handled`,
      measured: `${Math.round(median(series(name, 'perSecond')))}/s`,
      ratio: ratio(series(name, 'perSecond'), series(baseline, 'perSecond')),
      of: `${name} ÷ ${baseline}`,
      aim: { atLeast: aims[name] },
    },
    {
      part: 'inbox',
      what: `${name}, processor time per callback`,
      measured: `${(median(series(name, 'cpuPerRequest')) * 1e6).toFixed(1)} µs`,
      ratio: ratio(series(name, 'cpuPerRequest'), series(baseline, 'cpuPerRequest')),
      of: `${name} ÷ ${baseline}`,
    },
    {
      part: 'inbox',
      what: `${name}, processor time per callback`,
      measured: `${(median(series(least, 'cpuPerRequest')) * 1e6).toFixed(1)} µs for the least`,
      ratio: ratio(series(name, 'cpuPerRequest'), series(least, 'cpuPerRequest')),
      of: `${name} ÷ ${least}`,
      aim: { atMost: 1.4 },
    },
  ])
}

/** Callbacks arrive at fixed times, at a part of what the slowest of these servers can store and handle. */
async function latency(load, { quick }) {
  const [without, ...inboxes] = ['mounted', 'mounted, inbox', 'mounted, inbox and worker']
  const options = quick
    ? { rounds: 2, roundSeconds: 0.5, warmUp: 1000 }
    : { rounds: 12, roundSeconds: 1, warmUp: 3000 }
  const results = await onSlowDisk(() =>
    startServers([...inboxes.toReversed(), without], { ...options, load }),
  )
  const series = (name, field) => results[name].map((result) => result[field])
  return inboxes.flatMap((name) => {
    const delays = series(name, 'p50').map((p50, round) => (p50 - results[without][round].p50) * 1000)
    const what = `${name}, a sync of 1 ms, ${load} of capacity`
    const aims = load === 0.5 ? { p50: { atMost: 3 }, p99: { atMost: 2 } } : {}
    return [
      {
        part: 'inbox',
        what: `${what}, median delay by the inbox`,
        measured: `${median(delays).toFixed(2)} ms`,
        value: median(delays),
        of: `ms later than ${without}`,
        aim: aims.p50,
      },
      {
        part: 'inbox',
        what: `${what}, 99th percentile`,
        measured: `${(median(series(name, 'p99')) * 1000).toFixed(2)} ms`,
        ratio: ratio(series(name, 'p99'), series(without, 'p99')),
        of: `${name} ÷ ${without}`,
        aim: aims.p99,
      },
    ]
  })
}

async function onSlowDisk(work) {
  const { NODE_OPTIONS: before } = process.env
  process.env.NODE_OPTIONS = `--import=${new URL('inbox/slow-disk.mjs', import.meta.url)}`
  try {
    return await work()
  } finally {
    if (before === undefined) delete process.env.NODE_OPTIONS
    else process.env.NODE_OPTIONS = before
  }
}

/** How fast a worker empties a full inbox while callbacks arrive, and how late those are answered. */
async function drain({ quick }) {
  const backlog = quick ? 10_000 : 200_000
  const perSecond = 500
  return onSlowDisk(async () => {
    const receiver = startChild('inbox/backlog.mjs', 1, backlog)
    const load = startChild('receiver/load.mjs', 0)
    const p99s = []
    let seconds
    try {
      const [{ port }] = await once(receiver.child, 'message')
      while (seconds === undefined) {
        await load.ask({ prepare: { kind: 'callback', count: perSecond } })
        p99s.push((await load.ask({ send: { port, perSecond } })).p99 * 1000)
        seconds = (await receiver.ask({})).seconds
      }
    } finally {
      for (const { child } of [receiver, load]) child.kill()
    }
    const what = `backlog of ${backlog.toLocaleString('en')} while ${perSecond} a second arrive`
    const rate = backlog / seconds
    return [
      {
        part: 'inbox',
        what: `${what}, handled`,
        measured: `${Math.round(rate)}/s`,
        value: rate,
        of: 'entries per second',
        aim: { atLeast: 5_000 },
      },
      {
        part: 'inbox',
        what: `${what}, 99th percentile of the answers`,
        measured: `${median(p99s).toFixed(1)} ms`,
        value: median(p99s),
        of: 'ms',
        aim: { below: 50 },
      },
    ]
  })
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
