import { integerOption, invalidOption } from '../base/option-checks.js'
import { DEFAULT_TOLERANCE, type Tolerance } from './authenticate.js'

/** @throws CountersignError ERR_OPTION_INVALID */
export function toleranceOptions(
  owner: string,
  options: { readonly [Name in keyof Tolerance]?: number | undefined },
): Tolerance {
  const limit = (name: keyof Tolerance) =>
    integerOption(owner, name, options[name], { fallback: DEFAULT_TOLERANCE[name], min: 0 })
  return { toleranceMs: limit('toleranceMs'), futureToleranceMs: limit('futureToleranceMs') }
}

/**
 * A callback that is still accepted must still be remembered. Otherwise it could be handled a second time.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function checkRetention(
  owner: string,
  what: 'store' | 'inbox',
  retentionMs: number,
  tolerance: Tolerance,
): void {
  const neededMs = tolerance.toleranceMs + tolerance.futureToleranceMs
  if (retentionMs >= neededMs) return
  const cure =
    `the ${what} remembers for ${retentionMs} ms, less than toleranceMs plus futureToleranceMs (${neededMs}): ` +
    'raise its retentionMs, or lower toleranceMs'
  throw invalidOption(owner, 'toleranceMs', tolerance.toleranceMs, cure)
}
