import { printable } from './terminal.js'

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
  const { time, level, msg, err, ...fields } = record
  const parts = [
    text(time).slice(11, 23),
    text(level).toUpperCase().padEnd(5),
    printable(text(msg)),
    ...Object.entries(fields).map(([name, value]) => `${printable(name)}=${readable(value)}`),
  ]
  if (err !== undefined) parts.push(`err=${readableError(err)}`)
  return `${parts.join(' ')}\n`
}

function readable(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return printable(value)
  return printable(JSON.stringify(value))
}

/** The error and its causes, and where the first was thrown: a whole stack is in the JSON. */
function readableError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return readable(error)
  const { name, message, stack, cause } = error as LogRecord
  const place = /\n {4}at (.+)/.exec(text(stack))?.[1]
  const what = `${name === undefined ? '' : `${text(name)}: `}${text(message)}${place ? ` at ${place}` : ''}`
  return readable(what) + (cause === undefined ? '' : ` cause=${readableError(cause)}`)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
