import closeWithGrace from 'close-with-grace'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { isErrorLike } from '../base/foreign-value.js'
import { KnownSecrets } from '../logging/known-secrets.js'
import { loggedError } from '../logging/logged-error.js'
import { EXIT } from './io.js'

/** What there is to run, once the configuration has been loaded. */
export interface Prepared {
  readonly log: Logger
  /** How long a stop takes at most by the options, in milliseconds. */
  readonly stopLimitMs: number
  /** The line of the log that a signal causes. */
  readonly stopping: { readonly fields?: object; readonly message: string }
  readonly start: () => Promise<Stop>
}

/** Stops what runs. `failed`: because of an uncaught error. */
export type Stop = (why: { readonly failed: boolean }) => Promise<void>

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
/**
 * They must end the process. After a listener the instruction that failed is run again, and fails again without an end, such as
 * after the -shm file of an inbox was shortened.
 */
const FAULTS = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'] as const
/** Added to the limit of a stop: to close connections, and to write the last log lines. */
const STOP_SLACK_MS = 5_000
/** Node fires a timer that is longer than this immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Runs `prepare` and the `start` that it returns, and then waits until a signal or an uncaught error ends the process. Rejects
 * when one of the two does. Signals are handled from the beginning: before the start they end the process immediately.
 */
export async function runUntilSignal(prepare: () => Promise<Prepared>): Promise<never> {
  // Without a listener, the kernel discards the signals of the first process of a container. A configuration may wait for
  // another service.
  const end = (): never => process.exit(EXIT.done)
  for (const signal of SIGNALS) process.on(signal, end)
  let started: Promise<never>
  try {
    started = run(await prepare())
  } finally {
    for (const signal of SIGNALS) process.off(signal, end)
  }
  return started
}

async function run({ log, stopLimitMs, stopping, start }: Prepared): Promise<never> {
  let starting: Promise<Stop> | undefined
  const grace = closeWithGrace(
    {
      delay: Math.min(stopLimitMs + STOP_SLACK_MS, LONGEST_TIMER_MS),
      logger: false,
      skip: [
        // If the event loop becomes empty before the start has finished, the exit code of the failure is already set.
        'beforeExit',
        ...FAULTS,
      ],
      onSecondSignal: (signal) => log.warn({ signal }, 'a second signal: ending immediately'),
      onSecondError: (error) => log.fatal({ err: asError(error) }, 'a second error: ending immediately'),
      onTimeout: (delay) => log.error({ delay }, 'stopping takes too long: ending'),
    },
    async ({ signal, ...error }) => {
      const failed = 'err' in error
      if (failed) log.fatal({ err: asError(error.err) }, 'uncaught error: stopping')
      else log.info({ signal, ...stopping.fields }, `stopping: not ready; ${stopping.message}`)
      // A start that fails meanwhile ends the process with its message, which an exit from here would cut off.
      const stop = await starting?.catch(() => new Promise<never>(() => {}))
      try {
        await stop?.({ failed })
      } catch (error) {
        // closeWithGrace ends the process with 1.
        log.error({ err: asError(error) }, 'stopping failed')
        throw error
      }
      log.info('stopped')
      // closeWithGrace would not recognise a thrown undefined as an error.
      if (failed) process.exit(1)
    },
  )
  try {
    starting = start()
    await starting
  } catch (error) {
    grace.uninstall()
    throw error
  }
  return new Promise(() => {}) // closeWithGrace ends the process
}

export function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/** Anything may be thrown; pino's serializer is for errors. */
function asError(thrown: unknown): unknown {
  return isErrorLike(thrown) ? thrown : loggedError(thrown, new KnownSecrets())
}
