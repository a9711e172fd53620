import { environmentOf } from '../base/environment.js'
import { durationOption, invalidOption } from '../base/option-checks.js'
import type { KnownSecrets } from '../logging/known-secrets.js'
import { loggerOption, type LoggerOption } from '../logging/logger-option.js'
import { longestTimeoutMs, type EventMap } from './handlers.js'
import type { StandardSchema } from './standard-schema.js'

/** How handlers are run, by a receiver or by a worker. */
export interface HandlingOptions<Events extends object = EventMap> extends LoggerOption {
  /**
   * How long a handler may take, in milliseconds. Then its signal is aborted and the attempt has failed. @default
   * 10_000
   */
  readonly handlerTimeoutMs?: number | undefined
  /**
   * How long a callback stays claimed if the process that claimed it neither finishes nor releases it, in
   * milliseconds: a process that died blocks its callback for this time. The timeout of a handler is at most nine
   * tenths of it. @default 60_000
   */
  readonly leaseMs?: number | undefined
  /** How long `stop()` waits for running handlers before it aborts them, in milliseconds. @default 10_000 */
  readonly stopTimeoutMs?: number | undefined
  /** A schema for the payload of each event type, of any Standard Schema library (zod, valibot, arktype). */
  readonly schemas?:
    { readonly [Type in keyof Events]?: StandardSchema<Events[Type]> | undefined } | undefined
}

export const HANDLING_OPTIONS = [
  'handlerTimeoutMs',
  'leaseMs',
  'stopTimeoutMs',
  'schemas',
  'logger',
] as const satisfies readonly (keyof HandlingOptions)[]

/** The options, checked and with defaults. @throws CountersignError ERR_OPTION_INVALID */
export function parseHandlingOptions<Events extends object>(
  owner: string,
  options: HandlingOptions<Events>,
  secrets: KnownSecrets,
) {
  const leaseMs = durationOption(owner, 'leaseMs', options.leaseMs, 60_000)
  const handlerTimeoutMs = durationOption(owner, 'handlerTimeoutMs', options.handlerTimeoutMs, 10_000)
  if (handlerTimeoutMs > longestTimeoutMs(leaseMs)) {
    const cure = `stay within nine tenths of leaseMs (${leaseMs}), or raise that: a handler that outlives its lease may run twice at once`
    throw invalidOption(owner, 'handlerTimeoutMs', handlerTimeoutMs, cure)
  }
  return {
    leaseMs,
    handlerTimeoutMs,
    stopTimeoutMs: durationOption(owner, 'stopTimeoutMs', options.stopTimeoutMs, 10_000),
    schemas: schemasOption(owner, options.schemas ?? {}),
    logger: loggerOption(owner, options.logger, secrets),
    environment: environmentOf(options),
  }
}

function schemasOption(owner: string, schemas: object): ReadonlyMap<string, StandardSchema> {
  if (typeof schemas !== 'object') {
    throw invalidOption(owner, 'schemas', schemas, 'pass an object of Standard Schemas by event type')
  }
  const byType = new Map<string, StandardSchema>()
  for (const [type, schema] of Object.entries(schemas) as [string, StandardSchema | undefined][]) {
    if (schema === undefined) continue
    if (typeof schema?.['~standard']?.validate !== 'function') {
      const name = { option: 'schemas', part: `schemas[${JSON.stringify(type)}]` }
      throw invalidOption(owner, name, schema, 'pass a Standard Schema (zod, valibot, arktype)')
    }
    byType.set(type, schema)
  }
  return byType
}
