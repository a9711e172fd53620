import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { median, ratio } from './statistics.mjs'

const CAN_PIN = availableParallelism() > 1 && spawnSync('taskset', ['-c', '0,1', 'true']).status === 0

/** The aims for Node 20 and for later versions, whose Express takes less time. */
const MOUNTED_AIM = process.versions.node.startsWith('20.') ? 1.15 : 0.95

const SERVERS = [
  'bare express',
  'mounted',
  'hand-written',
  'octokit',
  'bare node:http',
  'node:http and cryptography',
  'standalone',
]

/**
 * Callbacks per second and their 99th percentile, of the receiver and of what else people use or write. Yields the rows of each
 * measurement when it ends, because all of them take minutes.
 */
export async function* benchReceiver({ quick }) {
  const options = quick ? { roundSeconds: 0.3, warmUp: 1500 } : { roundSeconds: 0.6, warmUp: 4000 }
  yield rowsOf(await startServers(SERVERS, { ...options, rounds: quick ? 6 : 16 }))
  yield await idle({ ...options, rounds: quick ? 4 : 12 })
  if (quick) return
  for (const connections of [8, 256]) yield await closedLoop(connections, { ...options, rounds: 12 })
  for (const load of [0.25, 0.5, 0.75]) yield await openLoop(load, { ...options, rounds: 8 })
}

/** How long a single callback takes on a server that has nothing else to do. */
async function idle(options) {
  const results = await startServers(['hand-written', 'mounted'], { ...options, connections: 1 })
  const p50 = (name) => results[name].map((result) => result.p50)
  return [
    {
      part: 'receiver',
      what: 'mounted, 1 connection, median latency',
      measured: milliseconds(median(p50('mounted'))),
      ratio: ratio(p50('mounted'), p50('hand-written')),
      of: 'mounted ÷ hand-written',
      aim: { atMost: 1.15 },
    },
  ]
}

async function closedLoop(connections, options) {
  const pairs = [
    ['mounted', 'bare express', MOUNTED_AIM],
    ['standalone', 'bare node:http', 0.65],
  ]
  const names = pairs.flatMap(([name, baseline]) => [baseline, name])
  const results = await startServers(names, { ...options, connections })
  const perSecond = (name) => results[name].map((result) => result.perSecond)
  return pairs.map(([name, baseline, atLeast]) => ({
    part: 'receiver',
    what: `${name}, ${connections} connections, callbacks per second`,
    measured: `${Math.round(median(perSecond(name)))}/s`,
    ratio: ratio(perSecond(name), perSecond(baseline)),
    of: `${name} ÷ ${baseline}`,
    aim: { atLeast },
  }))
}

/** Latencies while callbacks arrive at fixed times, at a part of what bare Express can answer. */
async function openLoop(load, options) {
  const inboxes = ['mounted, inbox', 'mounted, inbox and worker']
  const names = ['bare express', 'mounted', ...inboxes, 'standalone']
  const results = await startServers(names, { ...options, load })
  const at = `open loop at ${load} of bare express`
  const series = (name, field) => results[name].map((result) => result[field])
  const rows = []
  for (const name of names) {
    for (const field of ['p50', 'p99', 'p999']) {
      const measured = milliseconds(median(series(name, field)))
      rows.push({ part: 'receiver', what: `${name}, ${at}, ${field}`, measured })
    }
    const measured = `${(median(series(name, 'cpuPerRequest')) * 1e6).toFixed(1)} µs`
    rows.push({ part: 'receiver', what: `${name}, ${at}, processor time per callback`, measured })
  }
  if (load === 0.5) for (const name of inboxes) rows.push(...delayRows(name, at, series))
  return rows
}

/** How much later the answers come because of the inbox. */
function delayRows(name, at, series) {
  const without = series('mounted', 'p50')
  const delays = series(name, 'p50').map((p50, round) => (p50 - without[round]) * 1000)
  return [
    {
      part: 'receiver',
      what: `${name}, ${at}, median delay by the inbox`,
      measured: `${median(delays).toFixed(2)} ms`,
      value: median(delays),
      of: 'ms later than mounted',
      aim: { atMost: 3 },
    },
    {
      part: 'receiver',
      what: `${name}, ${at}, 99th percentile`,
      measured: milliseconds(median(series(name, 'p99'))),
      ratio: ratio(series(name, 'p99'), series('mounted', 'p99')),
      of: `${name} ÷ mounted`,
      aim: { atMost: 2 },
    },
  ]
}

const milliseconds = (seconds) => `${(seconds * 1000).toFixed(2)} ms`

/** What each of these servers did in alternating rounds, by name. */
export async function startServers(names, { rounds, roundSeconds, warmUp, load: part, ...sending }) {
  const load = startChild('receiver/load.mjs', 0)
  const servers = await Promise.all(names.map((name) => startServer(name, load, sending)))
  try {
    for (const server of servers) {
      await server.round(warmUp)
      const { perSecond } = await server.round(1000)
      server.count = Math.ceil(perSecond * roundSeconds)
    }
    // In open loop the rate is the same for all: a part of what the first server can answer.
    const rate = part && (await capacity(servers[0])) * part
    for (const server of servers)
      if (rate) Object.assign(server, { rate, count: Math.ceil(rate * roundSeconds) })
    const results = Object.fromEntries(names.map((name) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      for (const server of servers) results[server.name].push(await server.round(server.count))
      servers.reverse()
    }
    return results
  } finally {
    for (const { child } of [load, ...servers]) child.kill()
  }
}

/** Callbacks per second in closed loop. Several rounds, because every latency of an open loop depends on it. */
async function capacity(server) {
  const rounds = []
  for (let round = 0; round < 7; round++) rounds.push((await server.round(1000)).perSecond)
  return median(rounds)
}

async function startServer(name, load, sending) {
  const { child, ask } = startChild('receiver/servers.mjs', 1, name)
  const [{ port }] = await once(child, 'message')
  return {
    name,
    child,
    async round(count) {
      await load.ask({ prepare: { kind: name === 'octokit' ? 'github' : 'callback', count } })
      await ask({})
      const { seconds, ...latency } = await load.ask({ send: { ...sending, port, perSecond: this.rate } })
      const answeredAt = performance.now()
      // Resolves when a worker has recorded all ends. Until then it would take processor time from the next server.
      const { handled, cpuSeconds } = await ask({})
      const lastSeconds = name.endsWith('end to end') ? (performance.now() - answeredAt) / 1000 : 0
      if (handled !== count)
        throw new Error(`${name} answered ${count} requests with 200 and handled ${handled}`)
      return { perSecond: count / (seconds + lastSeconds), ...latency, cpuPerRequest: cpuSeconds / count }
    },
  }
}

/**
 * A program of this folder in a process of its own, and a function that resolves to its answer to a message. It is pinned to
 * a core, if one is given and that is possible: sender and server then do not take each other's processor time.
 */
export function startChild(file, core, ...args) {
  const env = { ...process.env, NODE_ENV: 'production' }
  const execArgv = ['--import', new URL('ends-with-parent.mjs', import.meta.url).href]
  const pinned = { execPath: 'taskset', execArgv: ['-c', String(core), process.execPath, ...execArgv] }
  const options = CAN_PIN && core !== undefined ? { env, ...pinned } : { env, execArgv }
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, options)
  const ask = (message) =>
    new Promise((resolve, reject) => {
      const onExit = (code) => reject(new Error(`${file} ${args} ended with exit code ${code}`))
      child.once('exit', onExit)
      child.once('message', (answer) => {
        child.off('exit', onExit)
        resolve(answer)
      })
      child.send(message)
    })
  return { child, ask }
}

function rowsOf(results) {
  const series = (name, field) => results[name].map((result) => result[field])
  const compare = (name, baseline, field, aim) => ({
    ratio: ratio(series(name, field), series(baseline, field)),
    of: `${name} ÷ ${baseline}`,
    aim,
  })
  const perSecond = (name, baseline, aim) => ({
    part: 'receiver',
    what: `${name}, callbacks per second`,
    measured: `${Math.round(median(series(name, 'perSecond')))}/s`,
    ...(baseline && compare(name, baseline, 'perSecond', aim)),
  })
  const p99 = (name, baseline, aim) => ({
    part: 'receiver',
    what: `${name}, 99th percentile`,
    measured: `${(median(series(name, 'p99')) * 1000).toFixed(2)} ms`,
    ...(baseline && compare(name, baseline, 'p99', aim)),
  })
  const cpu = (name, baseline, aim) => ({
    part: 'receiver',
    what: `${name}, processor time per callback`,
    measured: `${(median(series(name, 'cpuPerRequest')) * 1e6).toFixed(1)} µs`,
    ...(baseline && compare(name, baseline, 'cpuPerRequest', aim)),
  })
  return [
    perSecond('bare express'),
    perSecond('mounted', 'bare express', { atLeast: MOUNTED_AIM }),
    perSecond('hand-written', 'bare express'),
    perSecond('octokit', 'bare express'),
    p99('bare express'),
    p99('mounted', 'bare express', { atMost: 1 }),
    p99('hand-written', 'bare express'),
    p99('octokit', 'bare express'),
    perSecond('bare node:http'),
    perSecond('node:http and cryptography', 'bare node:http'),
    perSecond('standalone', 'bare node:http', { atLeast: 0.65 }),
    perSecond('standalone', 'node:http and cryptography'),
    perSecond('bare express', 'bare node:http'),
    cpu('bare express'),
    cpu('mounted', 'bare express'),
    cpu('bare node:http'),
    cpu('standalone', 'bare node:http', { atMost: 1.7 }),
  ]
}
