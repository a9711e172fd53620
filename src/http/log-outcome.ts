import { LogThrottle } from '../logging/log-throttle.js'
import { isWritten } from '../logging/guarded-logger.js'
import type { Logger } from '../logging/logger.js'
import { integerOption } from '../base/option-checks.js'
import { OUTCOMES, type OutcomeCode, type OutcomeName } from '../callback/outcomes.js'
import type { AnsweredEvent } from '../events/lifecycle-events.js'
import { loggedSubscription } from '../callback/subscriptions.js'

export interface OutcomeLogOptions {
  /**
   * How many lines per second are written for each code of callbacks that were not verified. Further ones are
   * counted, and their number is logged once per second. Verified callbacks are always logged one by one. With 0,
   * the causes of signatures that do not match are not logged either. At least 0. @default 10
   */
  readonly logRefusalsPerSecond?: number | undefined
}

const LEVELS = {
  handled: 'info',
  stored: 'info',
  duplicate: 'info',
  unhandled: 'warn',
  quarantined: 'warn',
  refused: 'warn',
  failed: 'error',
  unavailable: 'error',
} as const satisfies Record<OutcomeName, keyof Logger>

/** @throws CountersignError ERR_OPTION_INVALID */
export function logRefusalsOption(owner: string, { logRefusalsPerSecond }: OutcomeLogOptions): number {
  return integerOption(owner, 'logRefusalsPerSecond', logRefusalsPerSecond, { fallback: 10, min: 0 })
}

/** Writes one line for each callback, with the reason that the sender does not get. */
export class OutcomeLog {
  readonly #logger: Logger
  readonly #throttle: LogThrottle

  constructor(logger: Logger, logRefusalsPerSecond: number) {
    this.#logger = logger
    this.#throttle = new LogThrottle(logRefusalsPerSecond, (code, suppressed, overMs) => {
      const { name, status } = OUTCOMES[code as OutcomeCode]
      const message = `${suppressed} more callbacks ${name} in ${overMs} ms: not logged one by one`
      logger[LEVELS[name]]({ outcome: name, status, code, verified: false, suppressed, overMs }, message)
    })
  }

  write(event: AnsweredEvent): void {
    const { name, code, callback } = event.outcome
    const level = LEVELS[name]
    if (!isWritten(this.#logger, level)) return
    if (!callback && !this.#throttle.admits(code)) return
    this.#logger[level](this.#fields(event), `callback ${name}`)
  }

  #fields(event: AnsweredEvent): object {
    try {
      return fieldsOf(event)
    } catch {
      // Its handler had the event, and may have deleted or replaced parts of it.
      const { code, name, status, reason, callback } = event.outcome
      return { outcome: name, status, code, reason, verified: callback !== undefined }
    }
  }

  /** Logs the numbers of the lines that were not written. */
  flush(): void {
    this.#throttle.flush()
  }
}

function fieldsOf({ outcome, unverified, durationMs }: AnsweredEvent): object {
  const { code, name, status, reason, callback, error } = outcome
  return {
    outcome: name,
    status,
    code,
    reason,
    verified: callback !== undefined,
    idempotencyKey: callback?.idempotencyKey ?? unverified.idempotencyKey,
    eventType: unverified.eventType,
    subscription: callback && loggedSubscription(callback.subscription),
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(error !== undefined && { err: error }),
  }
}
