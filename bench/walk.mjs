// How long the way of one callback is: the files and functions of the package that run from its first byte until the end of its handler
// is recorded, and the calls between them, as V8 counts them, in this thread and in the one that has the file of an inbox.
//   npm run build && node bench/walk.mjs [--list]
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createReceiver } from 'countersign'
import { SqliteInbox } from 'countersign/sqlite'
import { makeRequests, subscription } from './receiver/requests.mjs'

const DIST = fileURLToPath(new URL('../dist', import.meta.url))
const LISTS = process.argv.includes('--list')
/** The walk without what happened beside it, such as the timer of a lease. */
const WALKS = 10

const session = new Session()
session.connect()
const threads = [(method, given) => session.post(method, given)]
session.on('NodeWorker.attachedToWorker', ({ params: { sessionId } }) => threads.push(threadOf(sessionId)))
await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false })

const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  const inbox = new SqliteInbox({ file: join(directory, 'walk.db') })
  console.table({
    'without an inbox': await walk({}),
    'with an inbox in a file': await walk({ inbox, pollMs: 2 ** 30 }),
  })
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function walk(options) {
  const receiver = createReceiver({ subscriptions: [subscription], logger: false, ...options })
  receiver.on(subscription.eventTypeName, () => {})
  await receiver.start()
  const server = createServer(receiver.requestListener(undefined, { exclusive: true }))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect(server.address().port, '127.0.0.1')
  await receiver.idle()
  await inEachThread('Profiler.enable')
  await inEachThread('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const walks = []
  for (const request of makeRequests('callback', 2 * WALKS)) {
    await inEachThread('Profiler.takePreciseCoverage')
    socket.write(request)
    const [answer] = await once(socket, 'data')
    if (!answer.toString('latin1').startsWith('HTTP/1.1 200 ')) throw new Error(`${answer}`)
    // Asking whether the end is recorded would be counted.
    await delay(50)
    walks.push(called(await inEachThread('Profiler.takePreciseCoverage')))
  }
  socket.destroy()
  server.close()
  await receiver.stop()
  // The first ones prepare what later ones use again.
  const shortest = walks.slice(WALKS).sort((one, other) => one.calls - other.calls)[0]
  if (LISTS) for (const line of shortest.lines) console.log(line)
  const { files, functions, calls } = shortest
  return { files, functions, calls }
}

/** Calls a method of the inspector of another thread. */
function threadOf(sessionId) {
  const waiting = new Map()
  let last = 0
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    if (params.sessionId !== sessionId) return
    const { id, result } = JSON.parse(params.message)
    waiting.get(id)?.(result)
  })
  return async (method, params) => {
    const id = ++last
    const answer = new Promise((resolve) => waiting.set(id, resolve))
    const message = JSON.stringify({ id, method, params })
    await session.post('NodeWorker.sendMessageToWorker', { sessionId, message })
    return answer
  }
}

function inEachThread(method, params) {
  return Promise.all(threads.map((post) => post(method, params)))
}

function called(threads) {
  const scripts = threads.flatMap(({ result }) => result)
  const ours = scripts.filter(({ url }) => url.startsWith(pathToFileURL(DIST).href) || url.startsWith(DIST))
  const functions = ours.flatMap(({ url, functions: all }) =>
    all
      .map(({ functionName, ranges: [{ count }] }) => ({ url, functionName, count }))
      .filter(({ count }) => count > 0),
  )
  const pathOf = (url) => relative(DIST, url.startsWith('file:') ? fileURLToPath(url) : url)
  return {
    files: new Set(functions.map(({ url }) => url)).size,
    functions: functions.length,
    calls: functions.reduce((sum, { count }) => sum + count, 0),
    lines: functions.map(({ url, functionName, count }) => `${count}  ${pathOf(url)}  ${functionName}`),
  }
}
