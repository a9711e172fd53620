import { performance } from 'node:perf_hooks'
import type { MaybePending } from '../base/pending.js'
import { onlyValue } from '../callback/callback.js'
import { refusal, type Outcome, type OutcomeCode, type ProbeOutcome } from '../callback/outcomes.js'
import { loggedSubscription } from '../callback/subscriptions.js'
import type { Logger } from '../logging/logger.js'
import type { ProbedRequest, ProbeResponder, RecognisedProbe } from '../probe/responder.js'
import { headerLines } from './callback-headers.js'
import type { CallbackHead } from './callback-head.js'
import type { BodyFailure, RawBody } from './read-body.js'
import { isFailure, refusalOf, type CallbackSource } from './read-callback.js'

/** What a receiver needs to answer probes. */
export interface ProbeParts {
  readonly responder: ProbeResponder
  readonly logger: Logger
}

/** Refusals by the headers that a proxy can cause. After them the body of a probe is still read. */
const BY_HEADERS: ReadonlySet<OutcomeCode> = new Set([
  'ERR_AUTHORIZATION_MISSING',
  'ERR_AUTHORIZATION_REPEATED',
  'ERR_AUTHORIZATION_MALFORMED',
  'ERR_TIMESTAMP_MISSING',
  'ERR_TIMESTAMP_REPEATED',
  'ERR_TIMESTAMP_MALFORMED',
  'ERR_BODY_ENCODED',
])

/** Refusals by the body. A probe may also have too large a body, or one that other code has read. */
const BY_BODY: ReadonlySet<OutcomeCode> = new Set([
  'ERR_SIGNATURE_MISMATCH',
  'ERR_BODY_TOO_LARGE',
  'ERR_BODY_TIMEOUT',
  'ERR_BODY_ALREADY_READ',
])

/** Recognises and answers the probes among the refused requests of one receiver. Keeps nothing about a request. */
export class ProbeStep {
  readonly #parts: ProbeParts
  readonly #readBody: ReadBody

  constructor(parts: ProbeParts, readBody: ReadBody) {
    this.#parts = parts
    this.#readBody = readBody
  }

  /**
   * The outcome of a refused request: with a report if it is a probe. If it was refused for its headers, the body is read once a
   * marker in them was recognised: the bodies of other requests are not read.
   */
  outcomeOf(
    source: CallbackSource,
    body: Buffer | undefined,
    refused: Outcome,
    startedAt: number,
  ): MaybePending<Outcome | ProbeOutcome> {
    const isByHeaders = BY_HEADERS.has(refused.code)
    if (!isByHeaders && !BY_BODY.has(refused.code)) return refused
    const { head } = source
    const recognising = this.#parts.responder.recognise(probedRequest(head), body)
    if (!recognising) return refused
    return recognising.then(async (probe) => {
      if (!probe) return refused
      if (!isByHeaders) return this.#answered(head, probe, refused, body, startedAt)
      const raw = await this.#readBody(source)
      if (isFailure(raw)) return this.#answered(head, probe, refusal(refusalOf(raw)), undefined, startedAt)
      try {
        return this.#answered(head, probe, refused, raw.bytes, startedAt)
      } finally {
        raw.release()
      }
    })
  }

  #answered(
    head: CallbackHead,
    probe: RecognisedProbe,
    refused: Outcome,
    body: Uint8Array | undefined,
    startedAt: number,
  ): Outcome | ProbeOutcome {
    const { code: refusedFor } = refused
    if (refusedFor === 'ERR_SHUTTING_DOWN') return refused
    const { responder, logger } = this.#parts
    const durationMs = Math.round(performance.now() - startedAt)
    logger.info({ subscription: loggedSubscription(probe.subscription), refusedFor }, 'probe answered')
    const report = responder.report(probe, probedRequest(head), { refusedFor, body, durationMs })
    return { ...refused, report }
  }
}

type ReadBody = (source: CallbackSource) => MaybePending<RawBody | BodyFailure>

function probedRequest({ method, path, headers, request }: CallbackHead): ProbedRequest {
  return {
    method,
    path,
    eventType: onlyValue(headers.eventType),
    rawHeaders: headerLines(request),
    httpVersion: request.httpVersion,
    addressFamily: request.socket?.remoteFamily,
  }
}
