import { readableFields, readableText, readableValue } from '../logging/readable-fields.js'
import { printable, printableLines } from '../base/printable.js'

type LogRecord = Readonly<Record<string, unknown>>

export interface ReadableOptions {
  /** All fields with their names. Otherwise only those that matter, the most important ones first. */
  readonly verbose: boolean
  /** Whether the level has the colour that terminals give it. */
  readonly colours: boolean
}

/** Converts a line of pino to one readable line: time, level, message, and the other fields. Any other line stays as it is. */
export function readableLine(line: string, { verbose, colours }: ReadableOptions): string {
  let record: LogRecord
  try {
    record = JSON.parse(line) as LogRecord
  } catch {
    return printableLines(line)
  }
  const { time, level, msg, ...fields } = record
  const word = readableText(level)
  const shownLevel = printable(word.toUpperCase().padEnd(5))
  const start = [
    printable(readableText(time).slice(11, 23)),
    colours ? coloured(shownLevel, word) : shownLevel,
    printable(readableText(msg)),
  ]
  return `${start.join(' ')}${verbose ? readableFields(fields) : mainFields(fields)}\n`
}

/** What a person looks for: which event, which entry, what went wrong. The key is the last, as it is the longest. */
function mainFields({ eventType, entryId, attempt, idempotencyKey, err, ...others }: LogRecord): string {
  const { rest, durationMs } = withoutRepetition(others)
  return [
    textOf(eventType),
    entryId === undefined ? '' : ` entry${textOf(entryId)}`,
    attempt === undefined || attempt === 1 ? '' : ` attempt${textOf(attempt)}`,
    readableFields(rest),
    typeof durationMs === 'number' ? ` ${Math.round(durationMs)} ms` : '',
    textOf(idempotencyKey),
    readableFields({ err }),
  ].join('')
}

/** The lines of a callback and of an entry's end have fields for programs, which repeat the message or the other fields. */
function withoutRepetition(fields: LogRecord): { rest: LogRecord; durationMs?: unknown } {
  if ('outcome' in fields && 'verified' in fields) {
    const { outcome: _, verified: __, subscription, status, code, reason, durationMs, ...more } = fields
    const rest = { subscription: (subscription as { id?: unknown } | undefined)?.id, ...more }
    return { rest: String(code).startsWith('ERR_') ? { status, code, reason, ...rest } : rest, durationMs }
  }
  if (!('move' in fields)) return { rest: fields }
  const { move: _, durationMs, ...rest } = fields
  return { rest, durationMs }
}

function textOf(value: unknown): string {
  return value === undefined ? '' : ` ${readableValue(value)}`
}

const COLOURS: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33, info: 32 }
/** Bright black, which is grey. */
const OTHER = 90

function coloured(text: string, level: string): string {
  return `\u001b[${COLOURS[level] ?? OTHER}m${text}\u001b[39m`
}
