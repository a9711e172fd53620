import { checkKnownOptions, invalidOption } from '../base/option-checks.js'

/** Options of one call of the client. */
export interface CallOptions {
  /** Aborts the call at any point. The call rejects with the signal's reason. @default none */
  readonly signal?: AbortSignal | undefined
}

/**
 * Checks the names of all options, and returns the signal. @throws CountersignError ERR_OPTION_UNKNOWN,
 * ERR_OPTION_INVALID
 */
export function signalOption(
  owner: string,
  options: CallOptions | undefined,
  known: readonly string[],
): AbortSignal | undefined {
  if (options === undefined) return undefined
  checkKnownOptions(owner, options, known)
  const { signal } = options
  if (signal === undefined || typeof signal?.addEventListener === 'function') return signal
  throw invalidOption(owner, 'signal', signal, 'pass an AbortSignal')
}
