import { measuredBy } from '../support/measuring-program.js'

it('400 clients that pipeline 60,000 bytes of small requests do not exhaust a heap of 160 MiB', () => {
  expect(measuredBy(measurement, { execArgv: ['--max-old-space-size=160'] })).toEqual({ status: 200 })
}, 60_000)

const measurement = `
  import { once } from 'node:events'
  import { connect } from 'node:net'
  import { createReceiver } from './index.ts'
  import { parseServerOptions, startReceiverServer } from './server/server.ts'

  const subscription = {
    eventTypeName: 'transfers.book-completed',
    callbackUrl: 'https://partner.example.com/hooks/transfers',
    secret: 's3cret~Text-with_dots.and-dashes-0123456',
  }
  const bytes = Buffer.from('GET / HTTP/1.1\\r\\n\\r\\n'.repeat(3333))

  async function main() {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    receiver.onAny(() => {})
    const server = await startReceiverServer(receiver, 10_000, parseServerOptions({ port: 0 }))
    const sockets = Array.from({ length: 400 }, () => connect(server.address.port, '127.0.0.1').pause().on('error', () => {}))
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.write(bytes, resolve))))
    const { status } = await fetch('http://127.0.0.1:' + server.address.port + '/healthz')
    process.stdout.write(JSON.stringify({ status }), () => process.exit())
  }
  void main()
`
