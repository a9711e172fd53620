import { performance } from 'node:perf_hooks'
import type { MaybePending } from '../base/pending.js'
import { onlyValue } from '../callback/callback.js'
import type { Outcome, OutcomeCode } from '../callback/outcomes.js'
import { loggedSubscription } from '../callback/subscriptions.js'
import type { Logger } from '../logging/logger.js'
import type { ProbedRequest, ProbeResponder, RecognisedProbe } from '../probe/responder.js'
import { headerLines } from './callback-headers.js'
import type { CallbackHead } from './callback-head.js'

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

  constructor(parts: ProbeParts) {
    this.#parts = parts
  }

  /**
   * Recognises a probe by the markers in its headers, before the body is read: the bodies of other requests are not read.
   * Undefined for a request that is not a probe.
   */
  recognise(head: CallbackHead, refused: OutcomeCode): Promise<RecognisedProbe | undefined> | undefined {
    return BY_HEADERS.has(refused) ? this.#parts.responder.recognise(probedRequest(head)) : undefined
  }

  /** The signed report, or undefined for every request that is not a probe. */
  report(
    head: CallbackHead,
    { probe, body }: ReadSoFar,
    { code }: Outcome,
    startedAt: number,
  ): MaybePending<string | undefined> {
    const answer = (recognised: RecognisedProbe) => this.#answer(head, recognised, code, body, startedAt)
    if (probe) return answer(probe)
    if (!BY_BODY.has(code)) return undefined
    const recognising = this.#parts.responder.recognise(probedRequest(head), body)
    return recognising?.then((recognised) => recognised && answer(recognised))
  }

  #answer(
    head: CallbackHead,
    probe: RecognisedProbe,
    code: OutcomeCode,
    body: Uint8Array | undefined,
    startedAt: number,
  ): string | undefined {
    if (code === 'ERR_SHUTTING_DOWN') return undefined
    const { responder, logger } = this.#parts
    const durationMs = Math.round(performance.now() - startedAt)
    logger.info({ subscription: loggedSubscription(probe.subscription), refusedFor: code }, 'probe answered')
    return responder.report(probe, probedRequest(head), { refusedFor: code, body, durationMs })
  }
}

interface ReadSoFar {
  /** Set if it was recognised by its headers. */
  readonly probe?: RecognisedProbe | undefined
  readonly body?: Uint8Array | undefined
}

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
