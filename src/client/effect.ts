/** What one attempt can have done to the service. */
export interface AttemptEffect {
  /** The request may have left this machine, and no answer says that the service refused it. */
  isPossible: boolean
}

/**
 * Whether the service may have acted on a request, over all attempts to send it. A refusal of a repeat proves nothing about
 * an attempt before it whose answer was lost.
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
 * Whether a status says that the request was not acted on: 4xx (RFC 9110, section 15.5), but for two. A proxy may answer 408
 * for a service that has the request. A 409 may mean that the request was acted on before: SERVICE does not show it. A
 * redirect is none, as it may follow on what was done (303, RFC 9110, section 15.4.4).
 */
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 409
}
