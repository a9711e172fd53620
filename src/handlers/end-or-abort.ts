import { settledWithin, withTimeout } from '../base/timeout.js'
import type { Environment } from '../base/environment.js'
import type { Logger } from '../logging/logger.js'

/** How long aborted handlers may take to end, in milliseconds. */
const ABORT_GRACE_MS = 1_000

interface StopOfHandlers {
  /** Resolves when all running handlers have ended. */
  readonly ended: Promise<unknown>
  /** In milliseconds. */
  readonly limitMs: number
  /** Aborts the signals of the running handlers. */
  readonly abort: (reason: Error) => void
  readonly logger: Logger
  readonly environment: Environment
}

/** Waits for running handlers to end. After `limitMs` it aborts their signals, and waits another second at most. */
export async function endOrAbort({
  ended,
  limitMs,
  abort,
  logger,
  environment,
}: StopOfHandlers): Promise<void> {
  try {
    await withTimeout(ended, limitMs, 'running handlers', { keepsAlive: true, environment })
  } catch {
    logger.warn(
      { code: 'WARN_STOP_TIMEOUT' },
      'callbacks are still in progress: the signals of their handlers are aborted',
    )
    abort(new Error(`stop() aborted the handlers after ${limitMs} ms (stopTimeoutMs)`))
    await settledWithin(ended, ABORT_GRACE_MS, environment)
  }
}
