// The sender, in its own process. Closed loop: each keep-alive connection sends its next request when the previous one has been
// answered. Open loop: requests are due at fixed times, and their latency counts from then on, also while they wait for a free
// connection. Bare sockets, because autocannon needs more processor time for a request than bare node:http for its answer.
import { once } from 'node:events'
import { connect } from 'node:net'
import { quantile } from '../statistics.mjs'
import { makeRequests } from './requests.mjs'

const CONNECTIONS = 64

let requests = []

process.on('message', async ({ prepare, send }) => {
  if (prepare) requests = makeRequests(prepare.kind, prepare.count)
  process.send(send ? await sendAll(send) : {})
})

/**
 * `port` may be several ports, which then have as many connections each. A sender that `maySleep` leaves its core to others while it
 * waits for answers.
 */
async function sendAll({ port, connections = CONNECTIONS, perSecond, maySleep = false }) {
  const ports = [port].flat()
  const sockets = Array.from({ length: connections }, (_, index) =>
    connect({ port: ports[index % ports.length], host: '127.0.0.1', noDelay: true }),
  )
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const latencies = []
  const startedAt = performance.now()
  const due = dueRequests(startedAt, perSecond)
  const stayAwake = maySleep ? undefined : keepAwake()
  await Promise.all(sockets.map((socket) => sendInTurn(socket, due, latencies)))
  stayAwake?.end()
  const seconds = (performance.now() - startedAt) / 1000
  const [p50, p99, p999] = [0.5, 0.99, 0.999].map((q) => quantile(latencies, q) / 1000)
  return { seconds, requests: requests.length, p50, p99, p999 }
}

/** A function that returns the next request and when it is due; undefined while none is due, null after the last. */
function dueRequests(startedAt, perSecond) {
  let next = 0
  return () => {
    if (next === requests.length) return null
    const now = performance.now()
    const dueAt = perSecond ? startedAt + (next * 1000) / perSecond : now
    return dueAt <= now ? { request: requests[next++], dueAt } : undefined
  }
}

/** An event loop that sleeps answers late: waking it takes longer than a callback. */
function keepAwake() {
  let immediate = setImmediate(function again() {
    immediate = setImmediate(again)
  })
  return { end: () => clearImmediate(immediate) }
}

function sendInTurn(socket, nextDue, latencies) {
  return new Promise((resolve, reject) => {
    let sentAt
    let answer = ''
    const sendNext = () => {
      const due = nextDue()
      if (due === null) return resolve(socket.destroy())
      if (due === undefined) return void setImmediate(sendNext)
      sentAt = due.dueAt
      socket.write(due.request)
    }
    socket.on('data', (chunk) => {
      answer += chunk.latin1Slice()
      if (!isWhole(answer)) return
      if (!answer.startsWith('HTTP/1.1 200 ')) return reject(new Error(`not a 200: ${answer}`))
      latencies.push(performance.now() - sentAt)
      answer = ''
      sendNext()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server hung up')))
    // Connections that start together would be answered together, which rewards batches.
    setTimeout(sendNext, Math.random() * 5)
  })
}

function isWhole(answer) {
  const headEnd = answer.indexOf('\r\n\r\n')
  if (headEnd === -1) return false
  const length = /\r\nContent-Length: (\d+)/i.exec(answer)
  if (!length) throw new Error(`an answer without Content-Length: ${answer}`)
  return answer.length === headEnd + 4 + Number(length[1])
}
