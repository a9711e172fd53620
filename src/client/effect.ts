/** What one attempt can have changed at the service. */
export interface AttemptEffect {
  /** The request may have left this machine, and no answer says that the service refused it. */
  isPossible: boolean
}

/**
 * Whether the service may have acted on a request, over all attempts to send it. The refusal of a repeat proves
 * nothing about an earlier attempt whose answer was lost.
 */
export class Effect {
  readonly #attempts: AttemptEffect[] = []

  begin(): AttemptEffect {
    const attempt = { isPossible: false }
    this.#attempts.push(attempt)
    return attempt
  }

  get isPossible(): boolean {
    return this.#attempts.some((attempt) => attempt.isPossible)
  }
}

/**
 * Whether a status says that the request was not acted on: 4xx (RFC 9110, section 15.5) with two exceptions. A
 * proxy may answer 408 although the service has the request. A 409 may mean that the service acted on it before,
 * because SERVICE does not describe it. A redirect does not say so either, because it may follow a completed action
 * (303, RFC 9110, section 15.4.4).
 */
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 409
}
