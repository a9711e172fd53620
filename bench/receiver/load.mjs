// The sender, in a process of its own: a few keep-alive connections, each sending its next request when the last has
// been answered. Bare sockets, because with requests that all differ autocannon takes more processor time for one than
// bare node:http takes to answer it, and would be what is measured.
import { once } from 'node:events'
import { connect } from 'node:net'
import { quantile } from '../statistics.mjs'
import { makeRequests } from './requests.mjs'

const CONNECTIONS = 32

let requests = []

process.on('message', async ({ prepare, send }) => {
  if (prepare) requests = makeRequests(prepare.kind, prepare.count)
  process.send(send ? await sendAll(send.port, send.connections) : {})
})

async function sendAll(port, connections = CONNECTIONS) {
  const sockets = Array.from({ length: connections }, () =>
    connect({ port, host: '127.0.0.1', noDelay: true }),
  )
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const queue = requests.values()
  const latencies = []
  const startedAt = performance.now()
  await Promise.all(sockets.map((socket) => sendInTurn(socket, queue, latencies)))
  const seconds = (performance.now() - startedAt) / 1000
  return { seconds, requests: requests.length, p99: quantile(latencies, 0.99) / 1000 }
}

function sendInTurn(socket, queue, latencies) {
  return new Promise((resolve, reject) => {
    let sentAt
    let answer = ''
    const sendNext = () => {
      const { value, done } = queue.next()
      if (done) return resolve(socket.destroy())
      sentAt = performance.now()
      socket.write(value)
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
    sendNext()
  })
}

function isWhole(answer) {
  const headEnd = answer.indexOf('\r\n\r\n')
  if (headEnd === -1) return false
  const length = /\r\nContent-Length: (\d+)/i.exec(answer)
  if (!length) throw new Error(`an answer without Content-Length: ${answer}`)
  return answer.length === headEnd + 4 + Number(length[1])
}
