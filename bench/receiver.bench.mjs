import { fork } from 'node:child_process'
import { once } from 'node:events'
import { median, ratio } from './statistics.mjs'

const SERVERS = [
  'bare express',
  'mounted',
  'hand-written',
  'octokit',
  'bare node:http',
  'node:http and cryptography',
  'standalone',
]

/** Callbacks per second and their 99th percentile, of the receiver and of what else people use or write. */
export async function benchReceiver({ quick }) {
  const { rounds, roundSeconds } = quick
    ? { rounds: 6, roundSeconds: 0.3 }
    : { rounds: 24, roundSeconds: 0.6 }
  return rowsOf(await startServers(SERVERS, { rounds, roundSeconds, warmUp: quick ? 1500 : 4000 }))
}

/** What each of these servers did in alternating rounds, by name. */
export async function startServers(names, { rounds, roundSeconds, warmUp, connections }) {
  const load = startChild('load.mjs')
  const servers = await Promise.all(names.map((name) => startServer(name, load, connections)))
  try {
    for (const server of servers) {
      await server.round(warmUp)
      const { perSecond } = await server.round(1000)
      server.count = Math.ceil(perSecond * roundSeconds)
    }
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

async function startServer(name, load, connections) {
  const { child, ask } = startChild('servers.mjs', name)
  const [{ port }] = await once(child, 'message')
  return {
    name,
    child,
    async round(count) {
      await load.ask({ prepare: { kind: name === 'octokit' ? 'github' : 'callback', count } })
      await ask({})
      const { seconds, p99 } = await load.ask({ send: { port, connections } })
      const { handled, cpuSeconds } = await ask({})
      if (handled !== count)
        throw new Error(`${name} answered ${count} requests with 200 and handled ${handled}`)
      return { perSecond: count / seconds, p99, cpuPerRequest: cpuSeconds / count }
    },
  }
}

function startChild(file, ...args) {
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = fork(new URL(`receiver/${file}`, import.meta.url), args, { env })
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
  const cpu = (name, baseline) => ({
    part: 'receiver',
    what: `${name}, processor time per callback`,
    measured: `${(median(series(name, 'cpuPerRequest')) * 1e6).toFixed(1)} µs`,
    ...(baseline && compare(name, baseline, 'cpuPerRequest')),
  })
  return [
    perSecond('bare express'),
    perSecond('mounted', 'bare express', { atLeast: 1.05 }),
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
    cpu('standalone', 'bare node:http'),
  ]
}
