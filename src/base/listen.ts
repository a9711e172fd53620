import type { Server } from 'node:net'
import { CountersignError } from './errors.js'

interface Address {
  readonly host: string
  readonly port: number
}

/** `owner` is the function that was called, for the message. @throws CountersignError ERR_LISTEN_FAILED */
export function listen(server: Server, address: Address, owner: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure(address, owner, error)))
    server.listen(address.port, address.host, resolve)
  })
}

export function listenFailure(
  { host, port }: Address,
  owner: string,
  error: NodeJS.ErrnoException,
): CountersignError {
  const cause = error.code === 'EADDRINUSE' ? 'another program listens there' : error.message
  const message = `${owner}: cannot listen on ${host} port ${port}: ${cause}. Choose another host or port.`
  return new CountersignError('ERR_LISTEN_FAILED', message, { cause: error })
}
