import type { MaybePending } from '../base/pending.js'
import type { CallbackRequest } from '../callback/callback.js'
import {
  refusal,
  type Outcome,
  type OutcomeCode,
  type ProbeOutcome,
  type Refusal,
} from '../callback/outcomes.js'
import { loggedSubscription } from '../callback/subscriptions.js'
import type { Logger } from '../logging/logger.js'
import type { ProbeResponder, RecognisedProbe } from '../probe/responder.js'
import type { CallbackSource } from './read-callback.js'

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
  outcomeOf(source: CallbackSource, refused: Outcome): MaybePending<Outcome | ProbeOutcome> {
    const isByHeaders = BY_HEADERS.has(refused.code)
    if (!isByHeaders && !BY_BODY.has(refused.code)) return refused
    const { request } = source
    const recognising = this.#parts.responder.recognise(request)
    if (!recognising) return refused
    return recognising.then(async (probe) => {
      if (!probe) return refused
      if (!isByHeaders) return this.#answered(probe, request, refused)
      const read = await this.#readBody(source)
      return this.#answered(probe, request, 'refused' in read ? refusal(read) : refused)
    })
  }

  #answered(probe: RecognisedProbe, request: CallbackRequest, refused: Outcome): Outcome | ProbeOutcome {
    const { code: refusedFor } = refused
    if (refusedFor === 'ERR_SHUTTING_DOWN') return refused
    const { responder, logger } = this.#parts
    logger.info({ subscription: loggedSubscription(probe.subscription), refusedFor }, 'probe answered')
    return { ...refused, report: responder.report(probe, request, refusedFor) }
  }
}

type ReadBody = (source: CallbackSource) => MaybePending<CallbackRequest | Refusal>
