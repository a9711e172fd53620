import { performance } from 'node:perf_hooks'
import type { Outcome, OutcomeCode } from '../callback/outcomes.js'
import { loggedSubscription } from '../callback/subscriptions.js'
import type { Logger } from '../logging/logger.js'
import type { ProbedRequest, ProbeResponder, RecognisedProbe } from '../probe/responder.js'
import { headerLines } from './callback-headers.js'
import type { CallbackHead } from './read-callback.js'

/** What a receiver needs to answer probes. */
export interface ProbeParts {
  readonly responder: ProbeResponder
  readonly logger: Logger
}

/** Refusals by the headers that a proxy can cause. The body of a probe is read nevertheless. */
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

/**
 * Whether one request is a probe. Only refused requests are examined: a callback whose signature is valid is never a
 * probe, whatever markers were added to it on the way.
 */
export class ProbeStep {
  readonly #parts: ProbeParts
  readonly #head: CallbackHead
  #probe: RecognisedProbe | undefined

  constructor(parts: ProbeParts, head: CallbackHead) {
    this.#parts = parts
    this.#head = head
  }

  /** Before the body is read: by the markers in the headers, so that the bodies of other requests are not read. */
  isProbe(refused: OutcomeCode): Promise<boolean> | false {
    if (!BY_HEADERS.has(refused)) return false
    const recognising = this.#parts.responder.recognise(this.#request())
    return recognising === undefined
      ? false
      : recognising.then((probe) => (this.#probe = probe) !== undefined)
  }

  /** The signed report, or undefined for every request that is no probe. */
  report(
    outcome: Outcome,
    body: Uint8Array | undefined,
    startedAt: number,
  ): Promise<string | undefined> | undefined {
    const { responder } = this.#parts
    if (this.#probe) return Promise.resolve(this.#answer(this.#probe, outcome, body, startedAt))
    if (!BY_BODY.has(outcome.code)) return undefined
    return responder
      .recognise(this.#request(), body)
      ?.then((probe) => probe && this.#answer(probe, outcome, body, startedAt))
  }

  #answer(
    probe: RecognisedProbe,
    { code }: Outcome,
    body: Uint8Array | undefined,
    startedAt: number,
  ): string | undefined {
    if (code === 'ERR_SHUTTING_DOWN') return undefined
    const { responder, logger } = this.#parts
    const durationMs = Math.round(performance.now() - startedAt)
    logger.info({ subscription: loggedSubscription(probe.subscription), refusedFor: code }, 'probe answered')
    return responder.report(probe, this.#request(), { refusedFor: code, body, durationMs })
  }

  #request(): ProbedRequest {
    const { method, path, headers, request } = this.#head
    const { eventType } = headers
    return {
      method,
      path,
      eventType: typeof eventType === 'string' ? eventType : undefined,
      rawHeaders: headerLines(request),
      httpVersion: request.httpVersion,
      addressFamily: request.socket?.remoteFamily,
    }
  }
}
