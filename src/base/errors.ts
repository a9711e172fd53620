/** What can be wrong with how Countersign is set up or used. What is wrong with a callback is in `outcomes.ts`. */
export type SetupErrorCode =
  | 'ERR_OPTION_UNKNOWN'
  | 'ERR_OPTION_INVALID'
  | 'ERR_HANDLER_INVALID'
  | 'ERR_RECEIVER_STARTED'
  | 'ERR_RECEIVER_STOPPED'
  | 'ERR_WORKER_STARTED'
  | 'ERR_WORKER_STOPPED'
  | 'ERR_CONFIG_NOT_FOUND'
  | 'ERR_CONFIG_INVALID'
  | 'ERR_LISTEN_FAILED'

/**
 * Every error that Countersign throws on purpose. Recognise it by `code`, which is stable, not by `instanceof`: the ES
 * module and the CommonJS build may both be loaded, each with a class of its own.
 */
export class CountersignError<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CountersignError'
    this.code = code
  }
}
