import type { Logger } from './logger.js'
import { printable } from '../base/printable.js'
import { readableFields } from './readable-fields.js'

/** By the methods of the Console Standard (console.spec.whatwg.org), because test runners replace Node's console. */
export function isConsole(logger: object): boolean {
  return ['log', 'table', 'dir', 'group'].every((name) => typeof Reflect.get(logger, name) === 'function')
}

/** Writes one line of text instead of the object, which console would print on several lines. */
export function consoleLogger(console: Logger): Logger {
  // With a second argument console would replace placeholders such as %s, and the line contains text of senders.
  const lines = console as unknown as Record<keyof Logger, (line: string) => void>
  const writer = (level: keyof Logger) => (fields: object, message: string) =>
    lines[level](logLine(fields, message))
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') }
}

/** `countersign: CODE message name=value`, without the end of the line. */
export function logLine(fields: object, message: string): string {
  const { code, ...rest } = fields as { code?: unknown }
  const start = typeof code === 'string' ? `${printable(code)} ` : ''
  // A handler may write fields alone. They begin with a space.
  return `countersign: ${start}${printable(message)}`.trimEnd() + readableFields(rest)
}
