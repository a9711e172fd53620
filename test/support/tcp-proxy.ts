import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A TCP proxy that can cut connections at a chosen moment. */
export class TcpProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #clients = new Set<Socket>()
  readonly #silentClients = new WeakSet<Socket>()
  /** Where new connections lead. Those that exist stay. */
  targetPort: number
  /** Called with what a client sends. If it returns true, the bytes are passed on, and then the client is cut off. */
  cutAfter: (bytes: Buffer) => boolean = () => false
  /** Called with what the server sends. If it returns true, the bytes are dropped, and the client is cut off. */
  cutBefore: (bytes: Buffer) => boolean = () => false

  /** Whether it keeps to itself what both sides send. */
  isSilent = false

  private constructor(targetPort: number) {
    this.targetPort = targetPort
    this.#server = createServer((client) => {
      this.#clients.add(client)
      client.on('close', () => this.#clients.delete(client))
      const target = connect(this.targetPort, '127.0.0.1')
      for (const socket of [client, target]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => {
          this.#sockets.delete(socket)
          client.destroy()
          // What was sent to the server still arrives there.
          target.end()
        })
      }
      const isSilent = () => this.isSilent || this.#silentClients.has(client)
      target.on('data', (bytes: Buffer) => {
        if (isSilent()) return
        if (this.cutBefore(bytes)) client.destroy()
        else client.write(bytes)
      })
      client.on('data', (bytes: Buffer) => {
        if (isSilent()) return
        const isCut = this.cutAfter(bytes)
        target.write(bytes, () => {
          if (isCut) client.destroy()
        })
      })
      client.on('end', () => target.end())
    })
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Ends all connections. What a client has sent still arrives at the server, and what the server answers is lost. */
  cut(): void {
    for (const socket of this.#clients) socket.destroy()
  }

  /** Keeps to itself from now on what both sides of the existing connections send. New connections work. */
  silence(): void {
    for (const client of this.#clients) this.#silentClients.add(client)
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
