import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

const servers: { server: Server; sockets: Set<Socket> }[] = []

/** A server that listens until the test is over. */
export async function listen(onConnection: (socket: Socket) => void): Promise<{ port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  servers.push({ server, sockets })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port }
}

/** A server that waits for the first bytes, then answers with these. */
export function answer(...pieces: (string | Buffer)[]): Promise<{ port: number }> {
  return listen((socket) => {
    socket.once('data', () => {
      for (const piece of pieces) socket.write(piece)
    })
  })
}

/** A server that waits for the first bytes, then answers with these and closes the connection. */
export function answerAndClose(text: string): Promise<{ port: number }> {
  return listen((socket) => socket.once('data', () => socket.end(text)))
}

afterEach(async () => {
  for (const { server, sockets } of servers.splice(0)) {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
})
