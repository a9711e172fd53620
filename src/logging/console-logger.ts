import type { Logger } from './logger.js'
import { printable } from '../base/printable.js'
import { readableFields } from './readable-fields.js'

/** As the Console Standard (console.spec.whatwg.org) has it; test runners put one of their own in the place of Node's. */
export function isConsole(logger: object): boolean {
  return ['log', 'table', 'dir', 'group'].every((name) => typeof Reflect.get(logger, name) === 'function')
}

/** Writes a line of text in place of the object, which console would print over many lines. */
export function consoleLogger(console: Logger): Logger {
  // Without a second argument, for which console would look for placeholders such as %s: senders write some of the line.
  const lines = console as unknown as Record<keyof Logger, (line: string) => void>
  const writer = (level: keyof Logger) => (fields: object, message: string) =>
    lines[level](logLine(fields, message))
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') }
}

/** `countersign: CODE message name=value`, without the end of the line. */
export function logLine(fields: object, message: string): string {
  const { code, ...rest } = fields as { code?: unknown }
  const start = typeof code === 'string' ? `${printable(code)} ` : ''
  return `countersign: ${start}${printable(message)}${readableFields(rest)}`
}
