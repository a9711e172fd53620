import { setTimeout as wait } from 'node:timers/promises'
import { backoff, type Backoff } from '../base/backoff.js'
import type { Logger } from '../logging/logger.js'
import { parseHttpDate } from '../signature/timestamp.js'
import type { Attempt, ServiceResponse } from './request.js'

export interface RetryPolicy extends Backoff {
  readonly maxAttempts: number
  readonly clock: () => number
  readonly logger: Logger
}

const MAX_RETRY_AFTER_MS = 30_000

/**
 * Retries until there is an answer other than 5xx and 429, at most `maxAttempts` times. Then the last answer is
 * returned, or the last failure is thrown. If a Retry-After (RFC 9110, section 10.2.3) is longer than 30 seconds,
 * there is no further attempt, and the caller gets the answer.
 */
export async function withRetries(
  { maxAttempts, retryDelayMs, maxRetryDelayMs, clock, logger }: RetryPolicy,
  signal: AbortSignal,
  send: (attempt: number) => Promise<Attempt>,
): Promise<ServiceResponse> {
  for (let attempt = 1; ; attempt++) {
    const result = await send(attempt)
    const response = 'response' in result ? result.response : undefined
    if (response && response.status < 500 && response.status !== 429) return response

    const asked = (response && askedDelayMs(response.headers, clock)) ?? 0
    if (attempt >= maxAttempts || asked > MAX_RETRY_AFTER_MS) {
      if ('failure' in result) throw result.failure
      return result.response
    }
    const delayMs = Math.max(asked, backoff(attempt, { retryDelayMs, maxRetryDelayMs }, Math.random))
    logger.info({ attempt, delayMs, status: response?.status }, 'the request will be repeated')
    // The delay's own error would hide the reason of the signal.
    await wait(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** Seconds or an HTTP date, in milliseconds from now; undefined if it is absent or cannot be parsed. */
export function askedDelayMs(headers: ServiceResponse['headers'], clock: () => number): number | undefined {
  const text = headers['retry-after'] ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER)
  const moment = parseHttpDate(text)
  if (moment === undefined) return undefined
  // Relative to the Date of the answer, if it has one, because the two clocks may differ.
  return Math.max(0, moment - (parseHttpDate(headers['date'] ?? '') ?? clock()))
}
