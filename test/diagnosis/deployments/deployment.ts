import type { Cause, ExplainOptions, ReceivedRequest } from '../../../src/diagnosis/index.js'

/** A set-up with one mistake, or two. */
export interface Deployment {
  readonly mistake: string
  readonly cause: Cause
  readonly togetherWith?: Cause
  /** `proven` unless stated. */
  readonly certainty?: 'likely'
  readonly request: ReceivedRequest
  readonly options?: Partial<ExplainOptions>
}
