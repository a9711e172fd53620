import { silentLogger, type Logger } from '../../../logging/logger.js'
import type { ServiceSimulator } from '../../../simulator/service-simulator.js'
import type { Io } from '../../io.js'
import { printLine } from './print.js'

interface AnnounceFlags {
  readonly callbackUrl?: string
  readonly showSecret?: true
  readonly json?: true
}

/** Prints what a client needs. `place` is where the client secret is. */
export function announce(simulator: ServiceSimulator, place: string, flags: AnnounceFlags, io: Io): void {
  const { baseUrl, credentials, seed } = simulator
  const { clientId, clientSecret } = credentials
  if (flags.json) {
    const shown = flags.showSecret ? { clientSecret } : {}
    return printLine(io, { event: 'listening', baseUrl, clientId, clientSecretIn: place, ...shown, seed })
  }
  const lines = [
    `listening on ${baseUrl}, with seed ${seed}`,
    `COUNTERSIGN_BASE_URL=${baseUrl}`,
    `COUNTERSIGN_CLIENT_ID=${clientId}`,
    flags.showSecret ? `COUNTERSIGN_CLIENT_SECRET=${clientSecret}` : `the client secret is ${place}`,
    ...(flags.callbackUrl === undefined ? ['waiting for a subscription'] : []),
  ]
  io.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

/** Prints a line for each request to the API, which shows the errors of a client. */
export function requestLogger(io: Io): Logger {
  return {
    ...silentLogger,
    info(fields) {
      const { endpoint, status, refusal } = fields as Readonly<Record<string, string | number | undefined>>
      if (endpoint === undefined) return
      io.stdout.write(`request: ${endpoint} ${status}${refusal === undefined ? '' : ` ${refusal}`}\n`)
    },
  }
}
