import { connection } from '../support/connection.js'
import { runReceiver } from '../support/running-receiver.js'
import { callbackHead } from './callback-head.js'
import { testUploadsOf24Megabytes } from './uploads-of-24-megabytes.js'

// The other hosts are in the slow tests.
describe('in http.createServer, an upload of 24 MB', () => testUploadsOf24Megabytes('http.createServer'))

describe('an upload that is too large', () => {
  it('is listened to no longer than bodyTimeoutMs', async () => {
    const { port } = await runReceiver({ bodyTimeoutMs: 50 })
    const { socket, received, closed } = await connection(port)
    socket.write(callbackHead({ 'Content-Length': '24000000' }))
    // Nothing more comes, and the connection is not ours to keep.
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 413 [^]*"status":413}$/)
  })

  it('is not listened to when it comes in thousands of tiny chunks', async () => {
    const { port } = await runReceiver({ bodyTimeoutMs: 600_000 })
    const { socket, received, receives, closed } = await connection(port)
    socket.write(callbackHead({ 'Transfer-Encoding': 'chunked', Authorization: null }))
    await receives(/^HTTP\/1\.1 401 [^]*"status":401}$/)
    socket.write('1\r\nx\r\n'.repeat(10_000))
    socket.write('1\r\nx\r\n')
    await closed
    expect(received()).toMatch(/"status":401}$/)
  })

  it('is not listened to after an answer without Authorization either', async () => {
    const { port } = await runReceiver({ bodyTimeoutMs: 50 })
    const { socket, received, closed } = await connection(port)
    socket.write(callbackHead({ Authorization: null, 'Content-Length': '1000' }))
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 401 [^]*"status":401}$/)
  })
})
