import type { Authentication } from '../callback/authenticate.js'
import type { Outcome } from '../callback/outcomes.js'

/** A callback whose signature matched: genuine, or suspect all the same. */
export type Authenticated = Exclude<Authentication, { verdict: 'refused' }>

/** What is done with callbacks that were verified: handled before the answer, or stored and handled after it. */
export interface Handling {
  start(): Promise<void>
  accept(callback: Authenticated): Promise<Outcome>
  /** Resolves once what runs has ended; after `limitMs` it is aborted. */
  stop(limitMs: number): Promise<void>
}
