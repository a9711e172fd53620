import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  AUTHENTICATOR_OPTIONS,
  createAuthenticator,
  parseAuthenticatorOptions,
  type AuthenticatorOptions,
} from '../callback/authenticator.js'
import type { CallbackEvent, ReadRequest } from '../callback/callback.js'
import { KnownSecrets } from '../logging/known-secrets.js'
import { loggerOption, type LoggerOption } from '../logging/logger-option.js'
import { checkKnownOptions } from '../base/option-checks.js'
import { outcome, refusal, type Outcome, type Refusal } from '../callback/outcomes.js'
import { answeredEvent, answeredNow } from '../events/publish-answer.js'
import { logRefusalsOption, OutcomeLog, type OutcomeLogOptions } from './log-outcome.js'
import { refuseMisuse, requireNodeResponse, type Middleware } from './middleware.js'
import { BODY_LIMIT_OPTIONS, bodyLimits, type BodyLimitOptions } from './body-limits.js'
import { requestReader } from './request-reader.js'
import { respond } from './respond.js'

export interface VerifySignatureOptions
  extends AuthenticatorOptions, BodyLimitOptions, OutcomeLogOptions, LoggerOption {}

/**
 * Middleware that passes on only genuine callbacks, with the verified event in `req.event`. The application declares that property
 * of `Express.Request` itself, as a `CallbackEvent`: it may have an `event` of another type. Other requests are
 * answered: 401 if the signature does not match, 400 to 503 for other reasons, as `OUTCOMES` lists them. It uses
 * the bytes that `captureRawBody()` kept, or reads the body itself. It does not recognise repeats:
 * `receiver.middleware()` does.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function verifySignature(options: VerifySignatureOptions): Middleware {
  refuseMisuse('verifySignature', options)
  const known = [...AUTHENTICATOR_OPTIONS, ...BODY_LIMIT_OPTIONS, 'logger', 'logRefusalsPerSecond']
  checkKnownOptions('verifySignature', options, known)
  const limits = bodyLimits('verifySignature', options)
  const readRequest = requestReader(limits)
  const secrets = new KnownSecrets()
  const logger = loggerOption('verifySignature', options.logger, secrets)
  const outcomeLog = new OutcomeLog(logger, logRefusalsOption('verifySignature', options))
  const settings = parseAuthenticatorOptions('verifySignature', options, logger, secrets)
  const authenticate = createAuthenticator(settings)

  async function check(
    read: ReadRequest | Refusal,
  ): Promise<{ event: CallbackEvent } | { refusal: Outcome }> {
    if ('refused' in read) return { refusal: refusal(read) }
    const result = await authenticate(read)
    if (result.verdict === 'genuine') return { event: result.callback }
    if (result.verdict === 'suspect') return { refusal: outcome(result.suspicion, result.callback) }
    return { refusal: outcome(result.code, undefined, result.error) }
  }

  async function verify(
    request: IncomingMessage & { event?: CallbackEvent },
    response: ServerResponse,
    next: () => void,
  ): Promise<void> {
    const { request: arrived, read } = await readRequest(request)
    const checked = await check(read).finally(() => arrived.release())
    if ('event' in checked) {
      request.event = checked.event
      return next()
    }
    const { refusal: refused } = checked
    respond(request, response, refused, { lingerMs: limits.bodyTimeoutMs, awaitsContinue: false })
    outcomeLog.write(answeredEvent(answeredNow(arrived, refused)))
  }

  return function countersignVerifySignature(request, response, next) {
    requireNodeResponse('verifySignature', response)
    verify(request, response, next).catch(next)
  }
}
