import { durationOption, integerOption, invalidOption } from '../base/option-checks.js'

export interface BodyLimitOptions {
  /** The largest body that is read, in bytes; a larger one is answered 413. @default 1_048_576 (1 MiB) */
  readonly maxBodyBytes?: number | undefined
  /**
   * How long a body may take, from the first to the last byte, in milliseconds; a slower one is answered 408.
   * @default 10_000
   */
  readonly bodyTimeoutMs?: number | undefined
  /**
   * How many bytes the bodies of all unfinished requests may use together. Above it the unfinished bodies with the least
   * progress are answered 503. At least twice `maxBodyBytes`. @default 67_108_864 (64 MiB), or twice `maxBodyBytes` if that is more
   */
  readonly maxBufferedBytes?: number | undefined
}

export const BODY_LIMIT_OPTIONS = [
  'maxBodyBytes',
  'bodyTimeoutMs',
  'maxBufferedBytes',
] as const satisfies readonly (keyof BodyLimitOptions)[]

/** `BodyLimitOptions`, checked and with defaults. */
export type BodyLimits = Readonly<ReturnType<typeof bodyLimits>>

export function bodyLimits(owner: string, options: BodyLimitOptions) {
  const max = Number.MAX_SAFE_INTEGER / 2
  const maxBodyBytes = integerOption(owner, 'maxBodyBytes', options.maxBodyBytes, {
    fallback: 1_048_576,
    min: 1,
    max: Math.floor(max),
  })
  const maxBufferedBytes = integerOption(owner, 'maxBufferedBytes', options.maxBufferedBytes, {
    fallback: Math.max(67_108_864, 2 * maxBodyBytes),
    min: 1,
  })
  if (maxBufferedBytes < 2 * maxBodyBytes) {
    const cure = `use at least twice maxBodyBytes (${2 * maxBodyBytes}), or lower that`
    throw invalidOption(owner, 'maxBufferedBytes', maxBufferedBytes, cure)
  }
  return {
    maxBodyBytes,
    bodyTimeoutMs: durationOption(owner, 'bodyTimeoutMs', options.bodyTimeoutMs, 10_000),
    maxBufferedBytes,
  }
}
