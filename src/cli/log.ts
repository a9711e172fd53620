import type { Logger } from 'pino'
import { errorFields } from '../logger.js'
import { readableLine } from './readable-log.js'
import { redactor } from './redact.js'
import { printableJson, printableLines } from './terminal.js'

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export const LOG_FORMATS = ['json', 'readable'] as const

export interface LogOptions {
  readonly level: (typeof LOG_LEVELS)[number]
  readonly format: (typeof LOG_FORMATS)[number]
  /** What may not be in any line. */
  readonly secrets: readonly string[]
}

export async function createLog({ level, format, secrets }: LogOptions): Promise<Logger> {
  // Most commands have no log, and start sooner without.
  const { pino } = await import('pino')
  // Synchronous: the last lines before an exit are the ones that matter.
  const stdout = pino.destination({ dest: 1, sync: true })
  const redact = redactor(secrets)
  const write =
    format === 'json'
      ? (line: string) => stdout.write(printableJson(redact(line)))
      : (line: string) => stdout.write(printableLines(readableLine(redact(line))))
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: withoutExtras },
      // pino's own would copy every property of an error.
      serializers: { err: plain },
    },
    { write },
  )
}

/** HTTP clients hang whole requests on their errors, Authorization header included. */
function withoutExtras(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value)]))
}

function plain(value: unknown): unknown {
  return value instanceof Error ? errorFields(value) : value
}
