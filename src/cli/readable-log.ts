import { readableFields, readableText } from '../logging/readable-fields.js'
import { printable } from '../base/printable.js'

type LogRecord = Readonly<Record<string, unknown>>

/**
 * Converts a line of pino to one readable line: time, level, message, and the other fields. Any other line is
 * returned unchanged.
 */
export function readableLine(line: string): string {
  let record: LogRecord
  try {
    record = JSON.parse(line) as LogRecord
  } catch {
    return line
  }
  const { time, level, msg, ...fields } = record
  const start = [
    readableText(time).slice(11, 23),
    readableText(level).toUpperCase().padEnd(5),
    printable(readableText(msg)),
  ]
  return `${start.join(' ')}${readableFields(fields)}\n`
}
