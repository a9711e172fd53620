import { isNativeError } from 'node:util/types'
import { isInstance } from '../base/foreign-value.js'
import { inJson } from './readable-fields.js'

/** The fields and the text that pino writes for the arguments of a method such as `error`. An error without a text has none. */
export function pinoLine([first, ...rest]: readonly unknown[]): { fields: object; text: string | undefined } {
  if (first === undefined || first === null) return { fields: {}, text: textOf(rest) }
  if (typeof first !== 'object') return { fields: {}, text: textOf([first, ...rest]) }
  return {
    fields: isNativeError(first) || isInstance(first, Error) ? { err: first } : first,
    text: textOf(rest),
  }
}

function textOf([format, ...values]: readonly unknown[]): string | undefined {
  if (format === undefined) return undefined
  if (typeof format === 'object') return [format, ...values].map(inJson).join(' ')
  return typeof format === 'string' && values.length > 0 ? formatted(format, values) : asText(format)
}

/** Not `util.format`: it appends values that have no placeholder, and it writes objects on several lines. */
function formatted(format: string, values: readonly unknown[]): string {
  let used = 0
  return format.replace(/%[sdfijoO%]/g, (placeholder) => {
    if (placeholder === '%%') return '%'
    if (used === values.length) return placeholder
    const value = values[used++]
    switch (placeholder) {
      case '%s':
        return asText(value)
      case '%d':
      case '%f':
        return isNothing(value) ? placeholder : String(Number(value))
      case '%i':
        return isNothing(value) ? placeholder : String(Math.floor(Number(value)))
      default:
        if (value === undefined) return placeholder
        if (typeof value === 'function') return value.name || '<anonymous>'
        return typeof value === 'string' ? `'${value}'` : inJson(value)
    }
  })
}

function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

function asText(value: unknown): string {
  try {
    return String(value)
  } catch {
    // It has no `toString`, or one that throws.
    return '[object]'
  }
}
