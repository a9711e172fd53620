import { measuredBy } from '../support/measuring-program.js'

it('ten thousand forged requests leave memory where it was', () => {
  const { refused, grownBytes } = measuredBy(measurement) as {
    refused: Record<string, number>
    grownBytes: number
  }
  expect(refused).toEqual({
    ERR_AUTHORIZATION_MISSING: 2_000,
    ERR_AUTHORIZATION_MALFORMED: 2_000,
    ERR_TIMESTAMP_MALFORMED: 2_000,
    ERR_SIGNATURE_MISMATCH: 4_000,
  })
  expect(grownBytes).toBeLessThan(2_000_000)
}, 60_000)

const measurement = `
  import { randomBytes, randomUUID } from 'node:crypto'
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
  const random = (length) => randomBytes(length).toString('base64url').slice(0, length)
  const signature = () => 'HMAC-SHA256 Signature=' + randomBytes(32).toString('base64')

  // Each different from all others, as long as Node lets it be, and wrong in a way of its own.
  const forgeries = [
    () => ({ Authorization: null, 'X-Event-Type': random(3000) }),
    () => ({ Authorization: random(3000) }),
    () => ({ Authorization: signature(), 'Authorization-Timestamp': random(3000) }),
    () => ({ Authorization: signature(), 'X-Event-Type': random(3000) }),
    (at) => ({ Authorization: signature(), 'Authorization-Timestamp': new Date(at * 1000).toUTCString() }),
  ]
  function forged(at) {
    const headers = forgeries[at % forgeries.length](at)
    const payload = { Id: randomUUID(), text: random(500) }
    return signedCallback({ subscription, payload, headers })
  }

  async function main() {
    const refused = {}
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    receiver.onAny(() => {})
    receiver.onOutcome(({ code }) => (refused[code] = (refused[code] ?? 0) + 1))
    const server = createServer(receiver.requestListener()).listen(0, '127.0.0.1')
    await once(server, 'listening')

    async function send(requests) {
      const socket = connect(server.address().port, '127.0.0.1')
      socket.resume().end(Buffer.concat(requests.map(({ toHttp }) => toHttp())))
      await once(socket, 'close')
    }
    async function bytes() {
      for (let turn = 0; turn < 10; turn++) {
        await new Promise(setImmediate)
        gc()
      }
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }

    // What compiled code and grown buffers take is not counted.
    for (let i = 0; i < 1000; i += 100) await send(Array.from({ length: 100 }, () => forged(4)))
    for (const code in refused) delete refused[code]
    const before = await bytes()
    for (let i = 0; i < 10000; i += 100) await send(Array.from({ length: 100 }, (_, offset) => forged(i + offset)))
    const grownBytes = (await bytes()) - before
    server.close()
    process.stdout.write(JSON.stringify({ refused, grownBytes }))
  }
  void main()
`
