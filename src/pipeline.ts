import type { Authenticator } from './authenticator.js'
import type { CallbackRequest } from './callback.js'
import type { Handling } from './handling/handling.js'
import { outcome, type Outcome } from './outcomes.js'
import type { Credentials } from './signature/credentials.js'

/** One callback, from bytes and headers to what became of it. */
export class Pipeline {
  readonly #authenticator: Authenticator
  readonly #handling: Handling
  readonly #stopping: () => boolean

  constructor(authenticator: Authenticator, handling: Handling, stopping: () => boolean) {
    this.#authenticator = authenticator
    this.#handling = handling
    this.#stopping = stopping
  }

  async receive(request: CallbackRequest, credentials: Credentials): Promise<Outcome> {
    const result = await this.#authenticator.authenticate(request, credentials)
    if (result.verdict === 'refused') return outcome(result.code, undefined, result.error)
    // Its body or its subscription may have come only after stop(), whose caller has closed what the handlers need.
    if (this.#stopping()) return outcome('ERR_SHUTTING_DOWN', result.callback)
    return await this.#handling.accept(result)
  }
}
