import { STATUS_CODES } from 'node:http'
import { asksToRetry, OUTCOMES, type Outcome, type ProbeOutcome } from '../callback/outcomes.js'

/** The answer to a callback, independent of the server that writes it. */
export interface CallbackAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** ASCII; empty with a 200. */
  readonly body: string
}

/** When the sender should repeat a callback that was answered 409 or 503, in milliseconds, unless a handler has said it. */
const RETRY_AFTER_MS = 10_000

/**
 * Refusals are problem details (RFC 9457). They contain no more than the status, so that an unauthenticated sender
 * learns no reason. They are strings, because Node writes a string together with the head, but a Buffer separately.
 */
const BODIES: ReadonlyMap<number, string> = new Map(
  Object.values(OUTCOMES).map(({ status }) => {
    const problem = { type: 'about:blank', title: STATUS_CODES[status], status }
    return [status, status === 200 ? '' : JSON.stringify(problem)]
  }),
)

/** Headers that concern the connection are added by the server that writes the answer. */
export function answerTo(outcome: Outcome | ProbeOutcome): CallbackAnswer {
  if ('report' in outcome) return reportAnswer(outcome.report)
  const { code, status, retryAfterMs = RETRY_AFTER_MS } = outcome
  const headers: Record<string, string> = {}
  if (status !== 200) headers['Content-Type'] = 'application/problem+json'
  if (status === 401) headers['WWW-Authenticate'] = 'HMAC-SHA256'
  if (status === 405) headers['Allow'] = 'POST'
  if (status >= 400 && asksToRetry(code))
    headers['Retry-After'] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
  return { status, headers, body: BODIES.get(status)! }
}

/**
 * The answer to a probe. Its status is that of a refused callback: 2xx is for callbacks only, and a probe must not look
 * like one to whoever sees no more than the status.
 */
function reportAnswer(report: string): CallbackAnswer {
  return { status: 401, headers: { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' }, body: report }
}
