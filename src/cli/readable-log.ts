import { readableFields } from '../logging/readable-fields.js'
import { printable } from '../base/printable.js'

type LogRecord = Readonly<Record<string, unknown>>

/**
 * A line of pino's JSON as one line for a person: time, level, message, and the other fields. What is not such a line is
 * returned as it is.
 */
export function readableLine(line: string): string {
  let record: LogRecord
  try {
    record = JSON.parse(line) as LogRecord
  } catch {
    return line
  }
  const { time, level, msg, ...fields } = record
  const start = [text(time).slice(11, 23), text(level).toUpperCase().padEnd(5), printable(text(msg))]
  return `${start.join(' ')}${readableFields(fields)}\n`
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
