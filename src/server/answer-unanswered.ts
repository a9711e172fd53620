import type { ServerResponse } from 'node:http'
import { outcome } from '../callback/outcomes.js'
import { answeredEvent } from '../events/publish-answer.js'
import { callbackHeaders } from '../http/callback-headers.js'
import { respond } from '../http/respond.js'
import type { Logger } from '../logging/logger.js'

/**
 * Answers the senders of callbacks that are still processed although the receiver has stopped, because a handler ignores its
 * signal or a dependency hangs. They would otherwise see a closed connection, and the log would not name the callbacks.
 */
export function answerUnanswered(responses: Iterable<ServerResponse>, logger: Logger): void {
  const result = outcome('ERR_SHUTTING_DOWN')
  for (const response of responses) {
    if (response.headersSent) continue
    const { unverified } = answeredEvent(result, callbackHeaders(response.req), 0)
    respond(response.req, response, result, { lingerMs: 0, awaitsContinue: false })
    const message =
      'the receiver has stopped while this callback is processed, and its sender is answered 503: pass the signal of the ' +
      'handler to what it waits for'
    logger.warn({ code: 'WARN_STOP_TIMEOUT', status: result.status, ...unverified }, message)
  }
}
