import { once } from 'node:events'
import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConsole } from 'countersign/console'
import { PostgresInbox } from 'countersign/postgres'
import { SqliteInbox } from 'countersign/sqlite'
import { loadSupport } from '../test/support/load-support.mjs'
import { MIXES } from './console/many-entries.mjs'
import { pagesOf } from './console/pages.mjs'
import { startChild } from './receiver.bench.mjs'
import { median, ratio } from './statistics.mjs'

const PAGE_AIM = { atMost: 100 }
/** A page that took longer is asked for again, because another program may have run. The shortest time counts. */
const SLOW_MS = 50
const VISITS = 9

/** How long the pages of the console take with very many entries, and what open pages cost the callbacks that arrive. */
export async function* benchConsole({ quick }) {
  const count = quick ? 100_000 : 1_000_000
  const mixes = quick ? ['nearly all handled'] : Object.keys(MIXES)
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const { hasPostgres, PostgresServer, QUICK_SETTINGS } = loadSupport('postgres-server.ts')
  const settings = [...QUICK_SETTINGS, 'shared_buffers = 128MB']
  const server = hasPostgres ? await PostgresServer.start(settings) : undefined
  try {
    const inboxes = []
    for (const [at, mix] of mixes.entries()) {
      inboxes.push({ mix, count, file: join(directory, `${at}.db`) })
      if (server) inboxes.push({ mix, count, connectionString: await server.createDatabase() })
    }
    await fillAll(inboxes)
    for (const each of inboxes) yield await measure(each)
    yield await openPages(inboxes[0].file, quick)
  } finally {
    await server?.stop()
    rmSync(directory, { recursive: true })
  }
}

/** Fills the inboxes, two at a time. */
async function fillAll(inboxes) {
  const waiting = [...inboxes]
  const fillNext = async () => {
    for (let inbox = waiting.shift(); inbox; inbox = waiting.shift()) {
      const { child, ask } = startChild('console/fill.mjs')
      try {
        await ask(inbox)
      } finally {
        child.kill()
      }
    }
  }
  await Promise.all([fillNext(), fillNext()])
}

async function measure({ mix, count, file, connectionString }) {
  const rows = []
  const inbox = file
    ? new SqliteInbox({ file, logger: false })
    : new PostgresInbox({ connectionString, logger: false })
  const on = `${file ? 'SQLite' : 'PostgreSQL'}, ${mix}`
  const add = (what, ms, aim, measured = `${ms.toFixed(0)} ms`) =>
    rows.push({ part: 'console', what: `${on}: ${what}`, measured, value: ms, of: 'ms', aim })
  await inbox.open()
  try {
    const first = await withConsole(inbox, async (visit) => {
      const ms = await visit('./')
      const startedAt = performance.now()
      while ((await visit.text('live/overview')).includes('id="counting"')) await new Promise(setImmediate)
      return { ms, figuresMs: ms + performance.now() - startedAt }
    })
    add('first overview of a process', first.ms, PAGE_AIM)
    add('until all its figures are there', first.figuresMs)
    await withConsole(inbox, async (visit) => {
      const blockedMs = await longestBlock(async () => {
        for (const [kind, pages] of Object.entries(pagesOf(count))) {
          const times = []
          for (const page of pages) times.push(await shortest(visit, page))
          const slowest = Math.max(...times)
          const measured = `${median(times).toFixed(0)} ms, at most ${slowest.toFixed(0)} ms`
          add(`${kind}, ${pages.length} pages`, slowest, PAGE_AIM, measured)
        }
      })
      add('longest time without another event', blockedMs)
    })
  } finally {
    await inbox.close()
  }
  return rows
}

async function shortest(visit, page) {
  let ms = await visit(page)
  for (let visits = 1; ms > SLOW_MS && visits < VISITS; visits++) ms = Math.min(ms, await visit(page))
  return ms
}

async function withConsole(inbox, use) {
  const console = createConsole({ inbox, operator: () => ({ name: 'ada', role: 'decide' }), logger: false })
  const server = createServer((request, response) => console(request, response, () => {}))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${server.address().port}/`
  const text = async (path) => {
    const answer = await fetch(base + path)
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}`)
    return answer.text()
  }
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

/** Callbacks that are accepted per second in alternating rounds, with three open pages and without. */
async function openPages(file, quick) {
  const load = startChild('receiver/load.mjs', 0)
  const server = startChild('console/server.mjs', 1, file)
  try {
    const [{ port }] = await once(server.child, 'message')
    const round = async (isOpen, count) => {
      await load.ask({ prepare: { kind: 'callback', count } })
      await server.ask({ isOpen })
      const { seconds } = await load.ask({ send: { port } })
      const { accepted, cpuSeconds } = await server.ask({ isOpen: false })
      if (accepted !== count) throw new Error(`${count} callbacks were sent and ${accepted} accepted`)
      return { perSecond: count / seconds, cpuPerRequest: cpuSeconds / count }
    }
    await round(true, 2000)
    const { perSecond } = await round(false, 2000)
    const count = Math.ceil(perSecond * (quick ? 2 : 4))
    const results = { open: [], closed: [] }
    for (let made = 0; made < (quick ? 4 : 8); made++) {
      const order = made % 2 === 0 ? ['open', 'closed'] : ['closed', 'open']
      for (const name of order) results[name].push(await round(name === 'open', count))
    }
    return rowsOf(results)
  } finally {
    for (const { child } of [load, server]) child.kill()
  }
}

function rowsOf({ open, closed }) {
  const compared = (field, aim) => ({
    part: 'console',
    ratio: ratio(
      open.map((result) => result[field]),
      closed.map((result) => result[field]),
    ),
    of: '÷ the same without',
    aim,
  })
  const perSecond = median(open.map((result) => result.perSecond))
  const cpu = median(open.map((result) => result.cpuPerRequest))
  return [
    {
      ...compared('perSecond', { atLeast: 0.95 }),
      what: 'mounted, very full inbox, three pages open, callbacks per second',
      measured: `${Math.round(perSecond)}/s`,
    },
    {
      ...compared('cpuPerRequest'),
      what: 'mounted, very full inbox, three pages open, processor time per callback',
      measured: `${(cpu * 1e6).toFixed(1)} µs`,
    },
  ]
}
