import { LogThrottle } from '../logging/log-throttle.js'
import type { Logger } from '../logging/logger.js'

/** How many lines per second are written for listeners that throw for an unverified callback. */
const LINES_PER_SECOND = 10
const CODE = 'ERR_LISTENER_FAILED'

/** Logs the exceptions of listeners. */
export class ListenerErrors {
  readonly #logger: Logger
  readonly #throttle: LogThrottle

  constructor(logger: Logger) {
    this.#logger = logger
    this.#throttle = new LogThrottle(LINES_PER_SECOND, (code, suppressed, overMs) =>
      logger.error({ code, suppressed, overMs }, `listeners threw ${suppressed} more times in ${overMs} ms`),
    )
  }

  write(error: unknown, event: object): void {
    // A listener that always fails also fails for each forged request.
    if (!isVerified(event) && !this.#throttle.admits(CODE)) return
    this.#logger.error({ code: CODE, err: error }, 'a listener threw')
  }

  flush(): void {
    this.#throttle.flush()
  }
}

function isVerified(event: { readonly outcome?: { readonly callback?: unknown } }): boolean {
  return event.outcome === undefined || event.outcome.callback !== undefined
}
