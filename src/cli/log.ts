import { isNativeError } from 'node:util/types'
import { Option, type Command } from 'commander'
import type { Logger } from 'pino'
import { isErrorLike } from '../base/foreign-value.js'
import { KnownSecrets } from '../logging/known-secrets.js'
import { loggedError } from '../logging/logged-error.js'
import { BoundedOutput } from './bounded-output.js'
import { readableLine } from './readable-log.js'
import { redactor } from './redact.js'
import { printableJson } from '../base/printable.js'

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export const LOG_FORMATS = ['json', 'readable'] as const

export function addLogOptions(command: Command): Command {
  return command
    .addOption(new Option('--log-level <level>', 'how much is logged (default: info)').choices(LOG_LEVELS))
    .addOption(
      new Option('--log-format <format>', '(default: readable on a terminal, else json)').choices(
        LOG_FORMATS,
      ),
    )
    .option('--verbose', 'all fields of each readable line')
}

export interface LogOptions {
  readonly level: (typeof LOG_LEVELS)[number]
  readonly format: (typeof LOG_FORMATS)[number]
  /** Whether readable lines have all fields. */
  readonly verbose: boolean
  /** Texts that no line may contain. */
  readonly secrets: readonly string[]
}

/** How long the end of the process waits for a blocked reader of the log, in milliseconds. */
const EXIT_FLUSH_MS = 2_000

/** The log of the process, on standard output. A slow or blocked reader delays only the log. */
export async function createLog({ level, format, verbose, secrets }: LogOptions): Promise<Logger> {
  // Loaded here, because most commands write no log.
  const { pino } = await import('pino')
  const known = new KnownSecrets()
  known.add([{ secret: secrets }])
  const redact = redactor(secrets)
  // False for a pipe, and where NO_COLOR is set.
  const colours = process.stdout.isTTY && process.stdout.hasColors()
  const output = new BoundedOutput(process.stdout, (dropped) =>
    log.warn(
      { code: 'WARN_LOG_LINES_DROPPED', dropped },
      'lines of the log were dropped, because its reader was too slow',
    ),
  )
  process.once('exit', () => output.flush(EXIT_FLUSH_MS))
  const serialized = (error: unknown) => pino.stdSerializers.err(loggedError(error, known))
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) =>
          Object.fromEntries(
            Object.entries(fields).map(([name, value]) => [
              name,
              // Handlers may log errors under any name. The serializer handles only `err`.
              name !== 'err' && isNativeError(value) ? serialized(value) : value,
            ]),
          ),
      },
      serializers: { err: (value: unknown) => (isErrorLike(value) ? serialized(value) : value) },
    },
    {
      write: (line: string) => {
        const hidden = redact(line)
        output.write(format === 'json' ? printableJson(hidden) : readableLine(hidden, { verbose, colours }))
      },
    },
  )
  return log
}
