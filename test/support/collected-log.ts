import { format } from 'node:util'
import type { Logger } from '../../src/logging/logger.js'

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, any>>
  readonly message: string
}

export interface CollectedLog extends Logger {
  readonly lines: LogLine[]
  /** The lines with this code, in the order they were written. */
  withCode(code: string): LogLine[]
  /** Everything that was written, as a search for a secret would see it. */
  text(): string
}

/** A logger that keeps what it is given. */
export function collectedLog(): CollectedLog {
  const lines: LogLine[] = []
  const writer = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields: fields as LogLine['fields'], message })
  }
  return {
    lines,
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    withCode: (code) => lines.filter(({ fields }) => fields['code'] === code),
    text: () => lines.map((line) => format('%O', line)).join('\n'),
  }
}
