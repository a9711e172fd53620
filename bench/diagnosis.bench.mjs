import { once } from 'node:events'
import { startChild } from './receiver.bench.mjs'
import { median, ratio } from './statistics.mjs'

const FORGED_PER_SECOND = 10_000
const CONNECTIONS = 16

/** A receiver explains at most one refused callback in 10 seconds: in a shorter round there would be one or none by chance. */
const ROUND_SECONDS = 10

/** Genuine callbacks per second during a flood of forged requests, with diagnosis and without it. */
export async function benchDiagnosis({ quick }) {
  const rounds = quick ? 3 : 10
  const [load, flood] = [startChild('receiver/load.mjs', 0), startChild('diagnosis/flood.mjs', 0)]
  const names = ['standalone, diagnosis', 'standalone, no diagnosis']
  const servers = await Promise.all(names.map((name) => startServer(name, load, flood)))
  try {
    for (const server of servers) {
      await server.round(2_000)
      const { perSecond } = await server.round(2_000)
      server.count = Math.ceil(perSecond * ROUND_SECONDS)
    }
    const results = Object.fromEntries(names.map((name) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      for (const server of servers) results[server.name].push(await server.round(server.count))
      servers.reverse()
    }
    return rowsOf(results)
  } finally {
    for (const { child } of [load, flood, ...servers]) child.kill()
  }
}

async function startServer(name, load, flood) {
  const { child, ask } = startChild('receiver/servers.mjs', 1, name)
  const [{ port }] = await once(child, 'message')
  return {
    name,
    child,
    async round(count) {
      await load.ask({ prepare: { kind: 'callback', count } })
      await ask({})
      // First the genuine ones, as the first forged request is explained at once.
      const sending = load.ask({ send: { port, connections: CONNECTIONS } })
      await flood.ask({ start: { port, perSecond: FORGED_PER_SECOND } })
      const { seconds } = await sending
      const { handled, cpuSeconds, explained } = await ask({})
      const { perSecond: forgedPerSecond } = await flood.ask({ stop: true })
      if (handled !== count)
        throw new Error(`${name} answered ${count} requests with 200 and handled ${handled}`)
      return {
        perSecond: count / seconds,
        forgedPerSecond,
        explained,
        cpuPerRequest: cpuSeconds / (count + forgedPerSecond * seconds),
      }
    },
  }
}

function rowsOf(results) {
  const [on, off] = Object.values(results)
  const series = (rounds, field) => rounds.map((round) => round[field])
  const explained = series(on, 'explained').reduce((sum, each) => sum + each, 0)
  if (explained === 0) throw new Error('no forged request was explained')
  const row = (what, field, text) => ({
    part: 'diagnosis',
    what,
    measured: text(median(series(on, field))),
    ratio: ratio(series(on, field), series(off, field)),
    of: 'with diagnosis ÷ without',
  })
  const perSecond = (value) => `${Math.round(value)}/s`
  return [
    {
      ...row('genuine callbacks during a flood', 'perSecond', perSecond),
      aim: { atLeast: 0.97 },
    },
    row('forged requests that were answered', 'forgedPerSecond', perSecond),
    row('processor time per request', 'cpuPerRequest', (value) => `${(value * 1e6).toFixed(1)} µs`),
    { part: 'diagnosis', what: 'explanations', measured: String(explained), of: `in ${on.length} rounds` },
  ]
}
