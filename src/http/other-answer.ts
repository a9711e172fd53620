import type { ServerResponse } from 'node:http'
import { textProperty } from '../base/foreign-value.js'
import type { Outcome } from '../callback/outcomes.js'
import type { Logger } from '../logging/logger.js'

/** Called when other code has sent an answer before the receiver could send its own. */
export type WarnOfOtherAnswer = (response: ServerResponse, outcome: Outcome) => void

/**
 * Each verified callback is named. Of the others only the first causes a line: anyone can send them, and a body that had not
 * arrived when the other code answered is never read.
 */
export function otherAnswerWarning(logger: Logger): WarnOfOtherAnswer {
  let isKnown = false
  return ({ statusCode }, { outcome, callback }) => {
    if (isKnown && !callback) return
    isKnown = true
    const message =
      `the sender got ${statusCode} from other code before the receiver answered: keep the framework from answering, ` +
      'or use receiver.fetch() or receiver.receive()'
    // Its handler had the event, and may have replaced the key by a getter that throws.
    const idempotencyKey = callback && textProperty(callback, 'idempotencyKey')
    logger.warn({ code: 'WARN_ALREADY_ANSWERED', outcome, statusCode, idempotencyKey }, message)
  }
}
