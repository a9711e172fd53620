import type { IncomingMessage } from 'node:http'
import { loggerOption, type LoggerOption } from '../logging/logger-option.js'
import { checkKnownOptions } from '../base/option-checks.js'
import { refusal } from '../callback/outcomes.js'
import { answeredEvent, answeredNow } from '../events/publish-answer.js'
import { logRefusalsOption, OutcomeLog, type OutcomeLogOptions } from './log-outcome.js'
import { refuseMisuse, requireNodeResponse, type Middleware } from './middleware.js'
import { BODY_LIMIT_OPTIONS, bodyLimits, type BodyLimitOptions } from './body-limits.js'
import { requestReader } from './request-reader.js'
import { respond } from './respond.js'
import { createWhenClosed } from './when-closed.js'

export interface CaptureRawBodyOptions extends BodyLimitOptions, OutcomeLogOptions, LoggerOption {}

/**
 * Middleware that keeps the bytes of a callback body in `req.rawBody`, as they arrived. The application declares that property of
 * `Express.Request` itself, as a `Buffer`. A request that cannot be a
 * callback is answered before its body is read: 405, 413, 415, 431, or 401 without a well-formed Authorization header.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function captureRawBody(options: CaptureRawBodyOptions = {}): Middleware {
  refuseMisuse('captureRawBody', options)
  checkKnownOptions('captureRawBody', options, [...BODY_LIMIT_OPTIONS, 'logger', 'logRefusalsPerSecond'])
  const limits = bodyLimits('captureRawBody', options)
  const readRequest = requestReader(limits)
  const whenClosed = createWhenClosed()
  const logger = loggerOption('captureRawBody', options.logger)
  const outcomeLog = new OutcomeLog(logger, logRefusalsOption('captureRawBody', options))

  return function countersignCaptureRawBody(request, response, next) {
    requireNodeResponse('captureRawBody', response)
    const capturing = readRequest(request).then(({ request: arrived, read }) => {
      if (!('refused' in read)) {
        ;(request as IncomingMessage & { rawBody?: Buffer }).rawBody = read.body
        // The bytes stay with the request.
        whenClosed(request, response, read.release)
        return next()
      }
      const refused = refusal(read)
      respond(request, response, refused, { lingerMs: limits.bodyTimeoutMs, awaitsContinue: false })
      outcomeLog.write(answeredEvent(answeredNow(arrived, refused)))
    })
    // Code that replaces methods of the response may throw.
    capturing.catch(next)
  }
}
