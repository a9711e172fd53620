import { connect, type Socket } from 'node:net'
import { until } from './until.js'

export interface Connection {
  readonly socket: Socket
  /** All that has arrived. */
  received(): string
  /** Resolves once this much has arrived; rejects when the connection is closed before. */
  receives(pattern: RegExp): Promise<void>
  readonly closed: Promise<void>
}

const open: Socket[] = []
afterEach(() => open.splice(0).forEach((socket) => socket.destroy()))

/** A connection that lives until the test is over, for conversations that no HTTP client would have. */
export async function connection(port: number): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  open.push(socket)
  let text = ''
  socket.setEncoding('latin1').on('data', (data) => (text += data))
  // A server that closes while we write makes writing fail, which says no more than that it closed.
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise((resolve) => socket.once('connect', resolve))
  return {
    socket,
    received: () => text,
    async receives(pattern) {
      await until(() => pattern.test(text) || socket.closed)
      if (!pattern.test(text)) throw new Error(`closed after ${JSON.stringify(text)}`)
    },
    closed,
  }
}
