import { isIP, type Server } from 'node:net'
import { CountersignError } from './errors.js'
import { invalidOption, type OptionPart } from './option-checks.js'

interface Address {
  readonly host: string
  readonly port: number
}

const DEFAULT_HOST = '127.0.0.1'

/**
 * The host of an address to listen on. Brackets and a port, as in a URL, are refused: the system would look up a host with such
 * a name. @throws CountersignError ERR_OPTION_INVALID
 */
export function hostOption(owner: string, name: string | OptionPart, host: unknown = DEFAULT_HOST): string {
  if (typeof host === 'string' && (isIP(host) !== 0 || /^[^\s:/[\]]+$/.test(host))) return host
  const cure =
    'use a host name or an address, without brackets and without a port, such as "127.0.0.1" or "::1"'
  throw invalidOption(owner, name, host, cure)
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
