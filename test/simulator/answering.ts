import { verifyCallback } from '../../src/signature/index.js'
import type { ServiceSimulatorOptions } from '../../src/simulator/options.js'
import type { ServiceSimulator } from '../../src/simulator/service-simulator.js'
import { deferred } from '../support/deferred.js'
import { serve } from '../support/hosts.js'
import { subscription } from '../support/subscription.js'
import { runSimulator } from './running-simulator.js'

export interface Seen {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

interface Setup {
  readonly simulator: ServiceSimulator
  readonly seen: Seen[]
  readonly port: number
}

/** A simulator, and something that answers its deliveries with these statuses in turn, the last one from then on. */
export async function answering(
  statuses: readonly number[],
  options: ServiceSimulatorOptions = {},
): Promise<Setup> {
  const seen: Seen[] = []
  const port = await serve((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk) => chunks.push(chunk))
      .on('end', () => {
        const status = statuses[Math.min(seen.length, statuses.length - 1)]!
        seen.push({
          url: request.url!,
          headers: request.headers as Seen['headers'],
          body: Buffer.concat(chunks),
        })
        response.writeHead(status, { 'X-Answer': String(seen.length) }).end(`answer ${seen.length}`)
      })
  })
  const simulator = await runSimulator({ deliverTo: `http://127.0.0.1:${port}`, seed: 1, ...options })
  simulator.subscribe(subscription)
  return { simulator, seen, port }
}

export const isGenuine = ({ headers, body }: Seen, { callbackUrl, secret } = subscription) =>
  verifyCallback({
    callbackUrl,
    secret,
    timestamp: headers['authorization-timestamp'],
    authorization: headers.authorization,
    body,
  }).valid

/** A request that never gets an answer, or only its beginning. */
export async function silent(beginning = ''): Promise<{ port: number; reached: Promise<void> }> {
  const { promise, resolve } = deferred()
  const port = await serve(({ socket }) => {
    socket.write(beginning)
    resolve()
  })
  return { port, reached: promise }
}
