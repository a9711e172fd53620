// The least program that gives the same answers: it verifies, stores each callback once before its answer, handles it after that, and
// records the end. It has no leases, retries, history, search or replays, and what a killed process began is not begun again.
import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { loadDriver } from '../../dist/inbox/sqlite/driver.js'
import { subscription } from '../receiver/requests.mjs'

if (!isMainThread) await store(workerData)

/** The one table has the file in a thread of its own. What waits while it commits is the next commit. */
async function store(file) {
  const { DatabaseSync } = await loadDriver()
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(
    'CREATE TABLE entry (id INTEGER PRIMARY KEY, key TEXT UNIQUE, state INTEGER, time INTEGER, type TEXT, body TEXT)',
  )
  const add = database.prepare(
    'INSERT INTO entry (key, state, time, type, body) VALUES (?, 0, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const end = database.prepare('UPDATE entry SET state = 1, time = ? WHERE id = ?')
  parentPort.on('message', ({ keys, types, bodies, lengths, ends }) => {
    const now = Date.now()
    const ids = new Float64Array(lengths.length)
    database.exec('BEGIN IMMEDIATE')
    let start = 0
    for (let index = 0; index < lengths.length; index++) {
      const body = bodies.slice(start, (start += lengths[index]))
      const { changes, lastInsertRowid } = add.run(keys[index], now, types[index], body)
      ids[index] = changes === 0 ? 0 : Number(lastInsertRowid)
    }
    for (const id of ends) end.run(now, id)
    database.exec('COMMIT')
    parentPort.postMessage(ids, [ids.buffer])
  })
}

/** `onHandled` is called when the end of a callback is recorded. */
export function leastProgram(file, { handle, onHandled }) {
  const { callbackUrl, secret } = subscription
  const { host, pathname } = new URL(callbackUrl)
  const key = createSecretKey(secret, 'utf8')
  const thread = new Worker(new URL(import.meta.url), { workerData: file })
  thread.unref()
  let arrived = []
  let ended = []
  let committing
  let waitsForTick = false
  const idle = []

  thread.on('message', (ids) => {
    const { adds, ends } = committing
    committing = undefined
    for (const { response } of adds) response.writeHead(200, { 'Content-Length': 0 }).end()
    for (let count = 0; count < ends.length; count++) onHandled()
    setImmediate(() => {
      adds.forEach(({ payload }, index) => {
        if (ids[index] === 0) return
        handle(payload)
        ended.push(ids[index])
      })
      commit()
    })
  })

  function commit() {
    if (committing) return
    if (arrived.length + ended.length === 0) return idle.splice(0).forEach((resolve) => resolve())
    committing = { adds: arrived, ends: ended }
    const lengths = Uint32Array.from(arrived, ({ text }) => text.length)
    const ends = Float64Array.from(ended)
    const packed = {
      keys: arrived.map(({ idempotencyKey }) => idempotencyKey),
      types: arrived.map(({ type }) => type),
      bodies: arrived.map(({ text }) => text).join(''),
      lengths,
      ends,
    }
    thread.postMessage(packed, [lengths.buffer, ends.buffer])
    arrived = []
    ended = []
  }

  function commitSoon() {
    if (waitsForTick) return
    waitsForTick = true
    setImmediate(() => {
      waitsForTick = false
      commit()
    })
  }

  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
      const { headers } = request
      const signed = `${pathname}\n${headers['authorization-timestamp']};${host};${hash('sha256', body, 'base64')}`
      const wanted = `HMAC-SHA256 Signature=${createHmac('sha256', key).update(signed).digest('base64')}`
      const given = headers['authorization'] ?? ''
      if (given.length !== wanted.length || !timingSafeEqual(Buffer.from(given), Buffer.from(wanted)))
        return response.writeHead(401).end()
      const text = body.toString()
      const idempotencyKey = headers['x-idempotency-key']
      arrived.push({
        idempotencyKey,
        type: headers['x-event-type'],
        text,
        payload: JSON.parse(text),
        response,
      })
      commitSoon()
    })
  })
  return {
    server,
    idle: () =>
      new Promise((resolve) => {
        idle.push(resolve)
        commitSoon()
      }),
  }
}
