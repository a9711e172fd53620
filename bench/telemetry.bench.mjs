import { once } from 'node:events'
import { startChild } from './receiver.bench.mjs'
import { median, quantile, ratio } from './statistics.mjs'

const METRICS_AIM = { atLeast: 0.98 }
const TRACES_AIM = { atLeast: 0.95 }

/** What is measured, what it is compared with, and the aim. */
const COMPARED = [
  ['off, once more', 'off'],
  ['Prometheus', 'off', METRICS_AIM],
  ['metrics of OpenTelemetry', 'off'],
  ['traces', 'off', TRACES_AIM],
  ['traces, not sampled', 'off', TRACES_AIM],
  ['one context.with', 'off'],
  ['traces without a context manager', 'off'],
  ['by hand: two spans', 'off'],
  ['by hand: two spans, not sampled', 'off'],
  ['traces', 'by hand: two spans'],
  ['traces, not sampled', 'by hand: two spans, not sampled'],
]

/** Requests before each round, so that garbage of the round before is not part of it. */
const SETTLING = 200

/** What metrics and traces cost a mounted receiver that handles before the answer. */
export async function benchTelemetry({ quick }) {
  // Processes of the same program differ, so there are several.
  const processes = []
  for (let started = 0; started < (quick ? 1 : 3); started++)
    processes.push(
      await measureProcess({
        rounds: quick ? 8 : 20,
        warmUp: quick ? 1500 : 4000,
        roundSeconds: quick ? 0.1 : 0.12,
      }),
    )
  return [
    perSecond(processes, 'off'),
    ...COMPARED.map((compared) => perSecond(processes, ...compared)),
    cpu(processes, 'off'),
    ...COMPARED.map(([name, baseline, { atLeast } = {}]) =>
      cpu(processes, name, baseline, atLeast && { atMost: Math.round(100 / atLeast) / 100 }),
    ),
    ...(await inOwnProcesses('Prometheus', { processes: quick ? 2 : 6, rounds: quick ? 6 : 20 })),
    ...(await withoutHttp(quick ? 20 : 80)),
  ]
}

/**
 * What a mode costs that is on all the time. A process that turns modes on and off compiles functions again after each change. Two
 * processes of the same program differ by more than a few percent, so there are several with the mode and as many without.
 */
async function inOwnProcesses(mode, { processes, rounds }) {
  const load = startChild('receiver/load.mjs', 0)
  const servers = []
  try {
    for (let started = 0; started < processes; started++)
      for (const name of ['off', mode]) {
        const server = await startServer(load)
        servers.push({ ...server, name, results: [] })
        await server.choose(name)
      }
    for (let warmUp = 0; warmUp < 4; warmUp++) for (const server of servers) await server.round(3_000)
    for (let round = 0; round < rounds; round++) {
      for (const server of servers) server.results.push(await server.round(1_500))
      servers.reverse()
    }
    const ofProcess = ({ results }, field, q) =>
      quantile(
        results.map((result) => result[field]),
        q,
      )
    const quartiles = (wanted, field, q) =>
      servers
        .filter(({ name }) => name === wanted)
        .map((server) => ofProcess(server, field, q))
        .sort((a, b) => a - b)
    const row = (what, field, q, text, aim) => ({
      part: 'telemetry',
      what: `mounted, ${mode} in ${processes} processes of its own, ${what}`,
      measured: text(median(quartiles(mode, field, q))),
      ratio: ratio(quartiles(mode, field, q), quartiles('off', field, q)),
      of: `÷ off in ${processes} processes`,
      aim,
    })
    return [
      row('callbacks per second', 'perSecond', 0.75, (value) => `${Math.round(value)}/s`, METRICS_AIM),
      row('processor time per callback', 'cpuPerRequest', 0.25, (value) => `${(value * 1e6).toFixed(1)} µs`, {
        atMost: 1.02,
      }),
    ]
  } finally {
    for (const { child } of [load, ...servers]) child.kill()
  }
}

/** A mounted receiver in a process of its own. */
async function startServer(load) {
  const { child, ask } = startChild('telemetry/server.mjs', 1)
  const [{ port, modes }] = await once(child, 'message')
  const send = async (count) => {
    await load.ask({ prepare: { kind: 'callback', count } })
    return (await load.ask({ send: { port } })).seconds
  }
  return {
    child,
    modes,
    choose: (mode) => ask({ mode }),
    send,
    async round(count) {
      await ask({})
      const seconds = await send(count)
      const { handled, cpuSeconds } = await ask({})
      if (handled !== count) throw new Error(`${count} requests were sent and ${handled} handled`)
      return { perSecond: count / seconds, cpuPerRequest: cpuSeconds / count }
    },
  }
}

/** By the tenth percentile of the rounds, in microseconds more than without metrics and traces. */
async function withoutHttp(rounds) {
  const { child, ask } = startChild('telemetry/without-http.mjs', 1)
  try {
    const [{ modes }] = await once(child, 'message')
    const results = Object.fromEntries(modes.map((mode) => [mode, []]))
    for (const mode of modes) await ask({ mode, count: 5_000 })
    for (let made = 0; made < rounds; made++) {
      for (const mode of modes) results[mode].push((await ask({ mode, count: 500 })).cpuPerRequest * 1e6)
      modes.reverse()
    }
    const off = quantile(results.off, 0.1)
    return Object.entries(results).map(([mode, series]) => {
      const took = quantile(series, 0.1)
      const more = mode === 'off' ? {} : { value: took - off, of: 'µs more than off' }
      const what = `without HTTP, ${mode}, processor time per callback`
      return { part: 'telemetry', what, measured: `${took.toFixed(1)} µs`, ...more }
    })
  } finally {
    child.kill()
  }
}

function perSecond(processes, name, baseline, aim) {
  const series = (mode) => processes.flatMap((results) => results[mode].map((result) => result.perSecond))
  return {
    part: 'telemetry',
    what: `mounted, ${name}, callbacks per second`,
    measured: `${Math.round(median(series(name)))}/s`,
    ...(baseline && { ratio: ratio(series(name), series(baseline)), of: `÷ ${baseline}`, aim }),
  }
}

/** By the lower quartile of the rounds of each process: another program that runs meanwhile only makes a round longer. */
function cpu(processes, name, baseline, aim) {
  const ofProcess = (results, mode) =>
    quantile(
      results[mode].map((result) => result.cpuPerRequest),
      0.25,
    )
  const ratios = processes.map((results) => ofProcess(results, name) / ofProcess(results, baseline ?? name))
  const spread = { median: median(ratios), from: Math.min(...ratios), to: Math.max(...ratios) }
  return {
    part: 'telemetry',
    what: `mounted, ${name}, processor time per callback`,
    measured: `${(median(processes.map((results) => ofProcess(results, name))) * 1e6).toFixed(1)} µs`,
    ...(baseline && { ratio: spread, of: `÷ ${baseline}, of ${ratios.length} processes`, aim }),
  }
}

/** The results of alternating rounds of one server, by mode. */
async function measureProcess({ rounds, warmUp, roundSeconds }) {
  const results = {}
  const load = startChild('receiver/load.mjs', 0)
  const server = await startServer(load)
  const { modes } = server
  const round = async (mode, count) => {
    await server.choose(mode)
    await server.send(SETTLING)
    return server.round(count)
  }
  try {
    for (const mode of modes) await round(mode, warmUp)
    const { perSecond } = await round('off', 1000)
    const count = Math.ceil(perSecond * roundSeconds)
    for (let made = 0; made < rounds; made++) {
      for (const mode of modes) (results[mode] ??= []).push(await round(mode, count))
      modes.reverse()
    }
    return results
  } finally {
    for (const { child } of [load, server]) child.kill()
  }
}
