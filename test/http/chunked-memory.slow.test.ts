import { measuredBy } from '../support/measuring-program.js'

it('unfinished bodies in chunks of one byte take about the memory of their bytes', () => {
  const { receivedBytes, grownBytes } = measuredBy(measurement) as {
    receivedBytes: number
    grownBytes: number
  }
  expect(receivedBytes).toBe(600_000)
  // Twice the bytes, and what five connections take by themselves.
  expect(grownBytes).toBeLessThan(2 * receivedBytes + 1_000_000)
}, 60_000)

const measurement = `
  import { createServer } from 'node:http'
  import { connect } from 'node:net'
  import { once } from 'node:events'
  import { createReceiver } from './index.ts'
  import { signedCallback } from './testing/signed-callback.ts'

  const subscription = {
    eventTypeName: 'transfers.book-completed',
    callbackUrl: 'https://partner.example.com/hooks/transfers',
    secret: 's3cret~Text-with_dots.and-dashes-0123456',
  }

  async function bytes() {
    for (let turn = 0; turn < 10; turn++) {
      await new Promise(setImmediate)
      gc()
    }
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }

  async function main() {
    const receiver = createReceiver({ subscriptions: [subscription], bodyTimeoutMs: 600_000 })
    receiver.onAny(() => {})
    const listener = receiver.requestListener()
    let receivedBytes = 0
    const server = createServer((request, response) => {
      listener(request, response)
      request.on('data', (chunk) => (receivedBytes += chunk.length))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')

    const { headers, path } = signedCallback({ subscription, headers: { 'Content-Length': null } })
    const lines = Object.entries({ Host: 'a', ...headers }).map(([name, value]) => name + ': ' + value + '\\r\\n')
    const head = 'POST ' + path + ' HTTP/1.1\\r\\n' + lines.join('') + 'Transfer-Encoding: chunked\\r\\n\\r\\n'
    const chunks = Buffer.from('1\\r\\nx\\r\\n'.repeat(120_000))
    const before = await bytes()
    const sockets = Array.from({ length: 5 }, () => connect(server.address().port, '127.0.0.1'))
    for (const socket of sockets) {
      socket.write(head)
      socket.write(chunks)
    }
    while (receivedBytes < 600_000) await new Promise(setImmediate)
    process.stdout.write(JSON.stringify({ receivedBytes, grownBytes: (await bytes()) - before }))
    process.exit()
  }
  void main()
`
