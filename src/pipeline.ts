import type { Authentication } from './authenticate.js'
import type { Authenticator } from './authenticator.js'
import type { CallbackRequest } from './callback.js'
import { outcome, type Outcome } from './outcomes.js'
import type { Credentials } from './signature/credentials.js'

/** A callback whose signature matched: genuine, or suspect all the same. */
export type Authenticated = Exclude<Authentication, { verdict: 'refused' }>

/** What is done with callbacks that were verified: handled before the answer, or stored and handled after it. */
export interface Handling {
  start(): Promise<void>
  accept(callback: Authenticated): Promise<Outcome>
  /** Resolves once what runs has ended; after `limitMs` it is aborted. */
  stop(limitMs: number): Promise<void>
}

/** One callback, from bytes and headers to what became of it. */
export class Pipeline {
  readonly #authenticator: Authenticator
  readonly #handling: Handling

  constructor(authenticator: Authenticator, handling: Handling) {
    this.#authenticator = authenticator
    this.#handling = handling
  }

  async receive(request: CallbackRequest, credentials: Credentials): Promise<Outcome> {
    const result = await this.#authenticator.authenticate(request, credentials)
    if (result.verdict === 'refused') return outcome(result.code, undefined, result.error)
    return this.#handling.accept(result)
  }
}
