import { invalidOption } from '../../base/option-checks.js'
import type { OpenTelemetry, OpenTelemetryOptions } from '../../telemetry/opentelemetry/open-telemetry.js'
import { withOrigin, type OptionOrigin } from './option-origin.js'
import { optionalPackage } from './optional-package.js'

type Load = () => Promise<{ openTelemetry(options?: OpenTelemetryOptions): OpenTelemetry }>

/**
 * What the `openTelemetry` option asks for: `true`, or the options; undefined if it is absent or false. Only then
 * `@opentelemetry/api` is loaded.
 * @throws CountersignError ERR_CONFIG_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function openTelemetrySetting(
  value: unknown,
  origin: OptionOrigin,
  load: Load = () => import('../../telemetry/opentelemetry/open-telemetry.js'),
): Promise<OpenTelemetry | undefined> {
  if (value === undefined || value === false) return undefined
  if (value !== true && (typeof value !== 'object' || value === null)) {
    const cure = 'use true, false, or an object with the options of openTelemetry'
    throw invalidOption(origin('openTelemetry'), 'openTelemetry', value, cure)
  }
  const { openTelemetry } = await optionalPackage('openTelemetry', '@opentelemetry/api', load)
  const owner = () => `${origin('openTelemetry')}: openTelemetry`
  return withOrigin(owner, () => openTelemetry(value === true ? {} : value))
}
