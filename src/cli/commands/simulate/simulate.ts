import { CountersignError } from '../../../base/errors.js'
import { withoutQuery } from '../../../callback/subscriptions.js'
import { silentLogger } from '../../../logging/logger.js'
import type { RetryPolicy } from '../../../simulator/delivery.js'
import type { FaultName } from '../../../simulator/fault.js'
import { startServiceSimulator, type ServiceSimulator } from '../../../simulator/service-simulator.js'
import type { ServiceSubscription } from '../../../simulator/subscription-book.js'
import { withOrigin, type OptionOrigin } from '../../config/option-origin.js'
import { loadEnvFile, variable } from '../../environment.js'
import { EXIT, UsageError, type ExitCode, type Io } from '../../io.js'
import { readSecret, type SecretFlags } from '../../secret-option.js'
import { announce, requestLogger } from './announce.js'
import { clientSecret, type ClientSecretFlags } from './client-secret.js'
import { printDeliveries, type ReceiverKind } from './print.js'
import { untilListening } from './target.js'

export type FaultChoice = FaultName | 'none'

/** The command line of `simulate`. */
export interface SimulateFlags extends SecretFlags, ClientSecretFlags {
  readonly port: number
  readonly clientId?: string
  readonly deliverTo?: string
  readonly callbackUrl?: string
  readonly eventType: string
  readonly callbacks: number
  readonly faults: readonly FaultChoice[]
  readonly toleranceMs: number
  readonly futureToleranceMs: number
  readonly concurrency: number
  readonly seed?: number
  readonly retryDelaysMs?: readonly number[]
  readonly retryTimestamp: RetryPolicy['timestamp']
  readonly repeatedSubscription: 'beside' | 'replace'
  readonly receiver: ReceiverKind
  readonly waitMs: number
  readonly once?: true
  readonly env?: string
  readonly json?: true
}

/** Simulates the service until a signal arrives, or with --once until the callbacks are delivered. */
export async function simulate(flags: SimulateFlags, io: Io): Promise<ExitCode> {
  await loadEnvFile(flags.env, io)
  // Read before the server listens, so that missing input is reported first.
  const secret = flags.callbackUrl === undefined ? undefined : await readSecret(flags, io)
  const { clientSecret: ours, place } = await clientSecret(flags, io)
  const simulator = await withOrigin(originOf(flags), () =>
    startServiceSimulator({
      port: flags.port,
      clientId: flags.clientId ?? variable(io, 'COUNTERSIGN_CLIENT_ID'),
      clientSecret: ours,
      deliverTo: flags.deliverTo,
      seed: flags.seed,
      toleranceMs: flags.toleranceMs,
      futureToleranceMs: flags.futureToleranceMs,
      retry: flags.retryDelaysMs && { delaysMs: flags.retryDelaysMs, timestamp: flags.retryTimestamp },
      repeatedSubscription: flags.repeatedSubscription,
      logger: flags.json ? silentLogger : requestLogger(io),
    }),
  )
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  // Once: a second signal has its default effect and ends the process.
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    if (flags.callbackUrl !== undefined) {
      const { callbackUrl, eventType: eventTypeName } = flags
      simulator.subscribe({ callbackUrl, eventTypeName, secret })
    }
    announce(simulator, place, flags, io)
    return await deliverAll(simulator, flags, io, stop.signal)
  } catch (error) {
    if (!stop.signal.aborted) throw error
    return flags.once ? EXIT.failed : EXIT.done
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    await simulator.close()
  }
}

/** Where an option of the simulator was set, for messages. */
function originOf({ clientId, clientSecretFile }: SimulateFlags): OptionOrigin {
  return (option) => {
    if (option === 'clientId') return clientId === undefined ? 'COUNTERSIGN_CLIENT_ID' : '--client-id'
    if (option === 'clientSecret') return clientSecretFile ?? 'COUNTERSIGN_CLIENT_SECRET'
    return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  }
}

/** Runs until the signal, with which it rejects, or with --once until the first subscription has its callbacks. */
async function deliverAll(
  simulator: ServiceSimulator,
  flags: SimulateFlags,
  io: Io,
  signal: AbortSignal,
): Promise<ExitCode> {
  const served = new Set<string>()
  for (let count = 1; ; count++) {
    await simulator.subscribed({ count, signal })
    for (const subscription of simulator.subscriptions.filter(({ id }) => !served.has(id))) {
      served.add(subscription.id)
      const areRight = await deliver(simulator, subscription, flags, io, signal)
      if (flags.once && areRight !== undefined) return areRight ? EXIT.done : EXIT.unexpected
    }
  }
}

/**
 * Whether every answer was right; undefined if another subscription has replaced this one.
 * @throws UsageError with --once, if the address of the subscription is not allowed
 */
async function deliver(
  simulator: ServiceSimulator,
  subscription: ServiceSubscription,
  flags: SimulateFlags,
  io: Io,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const { faults, callbacks, concurrency } = flags
  const list = faults.flatMap((fault) =>
    Array.from({ length: callbacks }, () => ({
      subscription,
      ...(fault !== 'none' && { fault }),
      signal,
    })),
  )
  try {
    await untilListening(flags.deliverTo ?? subscription.callbackUrl, flags.waitMs, signal)
    if (!simulator.subscriptions.includes(subscription)) return undefined
    const deliveries = await simulator.deliverMany(list, { concurrency })
    return printDeliveries(subscription, deliveries, flags, io)
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    const message = `cannot deliver to ${JSON.stringify(withoutQuery(subscription.callbackUrl))}: use --deliver-to`
    if (flags.once) throw new UsageError(message)
    io.stderr.write(`countersign: ${message}\n`)
    return false
  }
}
