// Sends forged requests at a fixed rate until it is told to stop, in its own process. Unlike the sender of genuine callbacks it
// does not wait for a free connection: what is due is divided between the connections, each with one request at a time.
import { once } from 'node:events'
import { connect } from 'node:net'
import { randomBytes } from 'node:crypto'
import { makeRequests } from '../receiver/requests.mjs'

const CONNECTIONS = 64
const DIFFERENT = 1_000

/** Well-formed, so that the signature is computed, and like a callback in everything else. */
const requests = makeRequests('callback', DIFFERENT).map((request) =>
  Buffer.from(request.toString().replace(/(?<=Signature=)[^\r]+/, () => randomBytes(32).toString('base64'))),
)

let flood

process.on('message', async ({ start, stop }) => {
  if (start) flood = await begin(start)
  process.send(stop ? flood.end() : {})
})

async function begin({ port, perSecond }) {
  const sockets = Array.from({ length: CONNECTIONS }, () =>
    connect({ port, host: '127.0.0.1', noDelay: true }),
  )
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const startedAt = performance.now()
  const idle = [...sockets]
  let [sent, answered, isOver] = [0, 0, false]
  for (const socket of sockets) {
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.latin1Slice()
      const end = answer.indexOf('\r\n\r\n')
      if (end === -1 || answer.length < end + 4 + Number(/\r\nContent-Length: (\d+)/i.exec(answer)?.[1]))
        return
      if (!answer.startsWith('HTTP/1.1 401 ')) throw new Error(`not a 401: ${answer}`)
      answer = ''
      answered++
      idle.push(socket)
    })
  }
  // What could not be sent in time is not made up for later: the rate would be higher afterwards.
  let last = startedAt
  let due = 0
  const sendDue = () => {
    if (isOver) return
    const now = performance.now()
    due = Math.min(due + ((now - last) * perSecond) / 1000, CONNECTIONS)
    last = now
    for (; due >= 1 && idle.length > 0; due--) idle.pop().write(requests[sent++ % DIFFERENT])
    setImmediate(sendDue)
  }
  sendDue()
  return {
    end() {
      isOver = true
      for (const socket of sockets) socket.destroy()
      return { perSecond: answered / ((performance.now() - startedAt) / 1000) }
    },
  }
}
