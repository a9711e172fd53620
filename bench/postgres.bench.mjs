import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { loadSupport } from '../test/support/load-support.mjs'
import { CALLERS } from './inbox/entries.mjs'
import { measureServerCost } from './postgres/server-cost.mjs'
import { startChild, startServers } from './receiver.bench.mjs'
import { median, ratio } from './statistics.mjs'

/** Durable hand-overs, and what is left of a round in the database until the last end is recorded. */
const HAND_OVERS = [
  { name: 'Countersign, one process', kind: 'countersign', processes: 1 },
  { name: 'Countersign, two processes', kind: 'countersign', processes: 2 },
  { name: 'Countersign, four processes', kind: 'countersign', processes: 4 },
  { name: 'pg-boss, one process', kind: 'pg-boss', processes: 1 },
  { name: 'graphile-worker, one process', kind: 'graphile-worker', processes: 1 },
]
const UNFINISHED = {
  countersign: 'FROM countersign.due',
  'pg-boss': `FROM pgboss.job WHERE name = 'callbacks' AND state < 'completed'`,
  'graphile-worker': 'FROM graphile_worker._private_jobs',
}
const CONNECTIONS = 64

/** Callbacks that are accepted per second with the inbox in PostgreSQL; and those that are handled as well, beside job queues; what they cost the server. */
export async function benchPostgres(options) {
  const { hasPostgres, PostgresServer } = loadSupport('postgres-server.ts')
  if (!hasPostgres) return []
  // fsync, full_page_writes and synchronous_commit are on by default.
  const server = await PostgresServer.start(['max_connections = 200', 'shared_buffers = 128MB'])
  try {
    return [
      ...(await accept(server, options)),
      ...(await handOver(server, options)),
      ...(await serverCost(server, options)),
    ]
  } finally {
    await server.stop()
  }
}

async function accept(server, { quick }) {
  process.env.BENCH_POSTGRES = await server.createDatabase()
  const results = await startServers(['bare express', 'insert by hand', 'mounted, PostgreSQL inbox'], {
    rounds: quick ? 4 : 14,
    roundSeconds: quick ? 0.25 : 0.6,
    warmUp: quick ? 1000 : 3000,
    connections: CONNECTIONS,
    maySleep: true,
  })
  const row = (name, field, measured, baseline, aim) => ({
    part: 'postgres',
    what: `${name}, ${CONNECTIONS} connections, ${measured.of}`,
    measured: measured.text(median(results[name].map((result) => result[field]))),
    ...(baseline && {
      ratio: ratio(
        results[name].map((result) => result[field]),
        results[baseline].map((result) => result[field]),
      ),
      of: `÷ ${baseline}`,
      aim,
    }),
  })
  const accepted = { of: 'accepted', text: (value) => `${Math.round(value)}/s` }
  const p99 = { of: '99th percentile', text: (value) => `${(value * 1000).toFixed(1)} ms` }
  const cpu = { of: 'processor time of the process', text: (value) => `${(value * 1e6).toFixed(1)} µs` }
  return [
    row('bare express', 'perSecond', accepted),
    row('insert by hand', 'perSecond', accepted, 'bare express'),
    row('insert by hand', 'cpuPerRequest', cpu, 'bare express'),
    row('mounted, PostgreSQL inbox', 'perSecond', accepted, 'bare express'),
    row('mounted, PostgreSQL inbox', 'perSecond', accepted, 'insert by hand', { atLeast: 0.9 }),
    row('mounted, PostgreSQL inbox', 'p99', p99, 'bare express'),
    row('mounted, PostgreSQL inbox', 'cpuPerRequest', cpu, 'bare express'),
  ]
}

async function handOver(server, { quick }) {
  const rounds = quick ? 2 : 8
  const count = quick ? 400 : 3_000
  const load = startChild('receiver/load.mjs', undefined)
  const contenders = []
  try {
    for (const which of HAND_OVERS) contenders.push(await startContender(which, server))
    for (const contender of contenders) await round(contender, load, count)
    const results = Object.fromEntries(contenders.map(({ name }) => [name, []]))
    for (let i = 0; i < rounds; i++) {
      for (const contender of contenders) results[contender.name].push(await round(contender, load, count))
      contenders.reverse()
    }
    return HAND_OVERS.flatMap(({ name }) => rowsOf(name, results))
  } finally {
    for (const { child } of [load, ...contenders.flatMap(({ children }) => children)]) child.kill()
  }
}

async function startContender({ name, kind, processes }, server) {
  const database = await server.createDatabase()
  const children = []
  const ports = []
  // One after the other, as each of them makes or looks at the schema.
  for (let i = 0; i < processes; i++) {
    const child = startChild('postgres/hand-over.mjs', undefined, kind, database)
    children.push(child)
    ports.push((await once(child.child, 'message'))[0].port)
  }
  const unfinished = async () => {
    const { rows } = await server.query(`SELECT EXISTS (SELECT ${UNFINISHED[kind]}) AS any`, [], database)
    return rows[0].any
  }
  return { name, children, ports, unfinished, handledBefore: 0 }
}

/** From the first request until all are answered, and until all are handled and recorded as such. */
async function round(contender, load, count) {
  const { children, ports, unfinished } = contender
  await load.ask({ prepare: { kind: 'callback', count } })
  const startedAt = performance.now()
  const { seconds } = await load.ask({ send: { port: ports, connections: CONNECTIONS, maySleep: true } })
  const expected = contender.handledBefore + count
  let handled = 0
  while (handled < expected) {
    await delay(5)
    const counts = await Promise.all(children.map(({ ask }) => ask({})))
    handled = counts.reduce((sum, each) => sum + each.handled, 0)
  }
  while (await unfinished()) await delay(5)
  if (handled > expected) throw new Error(`${contender.name} handled ${handled}, not ${expected}`)
  contender.handledBefore = handled
  return { accepted: count / seconds, handled: (count * 1000) / (performance.now() - startedAt) }
}

function rowsOf(name, results) {
  const baseline = HAND_OVERS[0].name
  return [
    ['accepted', 'accepted while handling'],
    ['handled', 'accepted, handled and recorded'],
  ].map(([field, what]) => {
    const series = (of) => results[of].map((result) => result[field])
    return {
      part: 'postgres',
      what: `${name}, ${what}`,
      measured: `${Math.round(median(series(name)))}/s`,
      ...(name !== baseline && {
        ratio: ratio(series(name), series(baseline)),
        of: `÷ ${baseline}`,
      }),
    }
  })
}

async function serverCost(server, { quick }) {
  const count = quick ? 2_000 : 20_000
  const rows = []
  const lives = [300, 1_500].flatMap((bodyBytes) => [
    { bodyBytes },
    { bodyBytes, begin: { leaseMs: 60_000 } },
  ])
  for (const { bodyBytes, begin } of lives) {
    const cost = await measureServerCost(server, { count, bodyBytes, begin })
    const bodies = `bodies of ${bodyBytes} bytes${begin ? ', handlers in the same process' : ''}`
    rows.push(
      bytesRow(`tables and indexes, ${bodies}`, cost.tableBytes),
      bytesRow(`write-ahead log, ${bodies}`, cost.logBytes),
      {
        part: 'postgres',
        what: `statements for a batch of ${CALLERS}, ${bodies}`,
        measured: cost.statementsPerBatch.toFixed(1),
        value: cost.statementsPerBatch,
        aim: { atMost: 4.5 },
      },
      ...timeRows(`processor time of the server to store, ${bodies}`, cost.secondsStored),
      ...timeRows(`processor time of the server to claim, begin and end, ${bodies}`, cost.secondsHandled),
    )
  }
  return rows
}

function bytesRow(what, bytes) {
  return {
    part: 'postgres',
    what: `${what}, a million handled callbacks`,
    measured: `${(bytes / 1000).toFixed(2)} GB`,
    value: bytes,
    of: 'bytes per callback',
  }
}

/** None where the processor time is not known. */
function timeRows(what, seconds) {
  if (Number.isNaN(seconds)) return []
  return [
    {
      part: 'postgres',
      what,
      measured: `${(seconds * 1e6).toFixed(1)} µs`,
      value: seconds * 1e6,
      of: 'µs per callback',
    },
  ]
}
