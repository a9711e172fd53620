import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConsole } from 'countersign/console'
import { PostgresInbox } from 'countersign/postgres'
import { SqliteInbox } from 'countersign/sqlite'
import { loadSupport } from '../test/support/load-support.mjs'
import { fillPostgres, fillSqlite, MIXES } from './console/many-entries.mjs'
import { startServers } from './receiver.bench.mjs'
import { median, ratio } from './statistics.mjs'

const PAGES = [
  'live/overview?range=hour',
  'live/overview?range=day',
  'live/overview?range=week',
  'entries',
  'entries?state=dead',
  'entries?state=handled&reason=nothing',
  'entry?id=500000',
  'decide?state=dead&action=discard',
]
const VISITS = 5
const POLLED = ['mounted, very full inbox', 'mounted, very full inbox, console open']

/** How long the pages of the console take with very many entries, and what open pages cost the callbacks that arrive. */
export async function benchConsole({ quick }) {
  const count = quick ? 100_000 : 1_000_000
  const mixes = quick ? ['nearly all handled'] : Object.keys(MIXES)
  return [
    ...(await onSqlite(count, mixes)),
    ...(await onPostgres(count, mixes)),
    ...(await polling(count, quick)),
  ]
}

async function onSqlite(count, mixes) {
  const rows = []
  for (const mix of mixes) {
    const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
    const file = join(directory, 'callbacks.db')
    const inbox = new SqliteInbox({ file, logger: false })
    try {
      await inbox.open()
      fillSqlite(file, count, mix)
      rows.push(...(await measure(inbox, `SQLite, ${mix}`)))
    } finally {
      await inbox.close()
      rmSync(directory, { recursive: true })
    }
  }
  return rows
}

async function onPostgres(count, mixes) {
  const { PostgresServer } = loadSupport('postgres-server.ts')
  const server = await PostgresServer.start()
  const rows = []
  try {
    for (const mix of mixes) {
      const connectionString = await server.createDatabase()
      const inbox = new PostgresInbox({ connectionString, logger: false })
      try {
        await inbox.open()
        await fillPostgres(connectionString, count, mix)
        rows.push(...(await measure(inbox, `PostgreSQL, ${mix}`)))
      } finally {
        await inbox.close()
      }
    }
  } finally {
    await server.stop()
  }
  return rows
}

/** Each row has the median of some visits. The first page of a process has no earlier figures. */
async function measure(inbox, on) {
  const rows = []
  const add = (what, ms, aim) =>
    rows.push({
      part: 'console',
      what: `${on}: ${what}`,
      measured: `${ms.toFixed(0)} ms`,
      value: ms,
      of: 'ms',
      aim,
    })
  const first = await withConsole(inbox, async (visit) => {
    const ms = await visit('./')
    const startedAt = performance.now()
    while ((await visit.text('live/overview')).includes('id="counting"')) await new Promise(setImmediate)
    return { ms, figuresMs: ms + performance.now() - startedAt }
  })
  add('first overview', first.ms, { atMost: 100 })
  add('until its figures are there', first.figuresMs)
  await withConsole(inbox, async (visit) => {
    let blockedMs = 0
    for (const page of PAGES) {
      const times = []
      for (let made = 0; made < VISITS; made++)
        blockedMs = Math.max(blockedMs, await longestBlock(async () => times.push(await visit(page))))
      add(page, median(times), { atMost: 100 })
    }
    add('longest time without another event', blockedMs)
  })
  return rows
}

async function withConsole(inbox, use) {
  const console = createConsole({ inbox, operator: () => ({ name: 'ada', role: 'decide' }), logger: false })
  const server = createServer((request, response) => console(request, response, () => {}))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${server.address().port}/`
  const text = async (path) => (await fetch(base + path)).text()
  const visit = async (path) => {
    const startedAt = performance.now()
    await text(path)
    return performance.now() - startedAt
  }
  try {
    return await use(Object.assign(visit, { text }))
  } finally {
    console.close()
    server.close()
    server.closeAllConnections()
  }
}

async function longestBlock(work) {
  let longest = 0
  let last = performance.now()
  let immediate
  const look = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    immediate = setImmediate(look)
  }
  immediate = setImmediate(look)
  await work()
  clearImmediate(immediate)
  return longest
}

async function polling(count, quick) {
  process.env.BENCH_ENTRIES = String(count)
  const results = await startServers(POLLED, {
    rounds: quick ? 4 : 12,
    roundSeconds: quick ? 2 : 6,
    warmUp: 2000,
  })
  const [without, polled] = POLLED.map((name) => results[name].map(({ perSecond }) => perSecond))
  return [
    {
      part: 'console',
      what: `${POLLED[0]}, callbacks per second`,
      measured: `${Math.round(median(without))}/s`,
    },
    {
      part: 'console',
      what: `${POLLED[1]}, callbacks per second`,
      measured: `${Math.round(median(polled))}/s`,
      ratio: ratio(polled, without),
      of: '÷ the same without',
      aim: { atLeast: 0.95 },
    },
  ]
}
