import type { ServerResponse } from 'node:http'
import { textProperty } from '../base/foreign-value.js'
import type { Outcome } from '../callback/outcomes.js'
import type { Logger } from '../logging/logger.js'

/**
 * Logs the answers of the receiver that were not sent: one line for each verified callback, and one line for the first of all other
 * requests. Anyone can send those, and a body that had not arrived when other code answered is never read.
 */
export class UnsentAnswers {
  readonly #logger: Logger
  readonly #known = new Set<string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Other code has sent an answer before the receiver could send its own. */
  otherSent({ statusCode }: ServerResponse, outcome: Outcome): void {
    const message =
      `the sender got ${statusCode} from other code before the receiver answered: keep the framework from answering, ` +
      'or use receiver.fetch() or receiver.receive()'
    this.#log('warn', { code: 'WARN_ALREADY_ANSWERED', statusCode }, message, outcome)
  }

  /** Code of the application threw while the answer was written, such as middleware that replaces methods of the response. */
  failed(err: unknown, outcome: Outcome): void {
    const message =
      'the answer could not be written, and the connection was closed: code that changes the response threw'
    this.#log('error', { code: 'ERR_ANSWER_FAILED', err }, message, outcome)
  }

  #log(
    level: 'warn' | 'error',
    fields: { code: string; [name: string]: unknown },
    message: string,
    { name, callback }: Outcome,
  ): void {
    if (this.#known.has(fields.code) && !callback) return
    this.#known.add(fields.code)
    // Its handler had the event, and may have replaced the key by a getter that throws.
    const idempotencyKey = callback && textProperty(callback, 'idempotencyKey')
    this.#logger[level]({ ...fields, outcome: name, idempotencyKey }, message)
  }
}
