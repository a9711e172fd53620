import { isErrorLike } from '../base/foreign-value.js'
import { printable } from '../base/printable.js'

type Fields = Readonly<Record<string, unknown>>

/** ` name=value` for each field that has a value. The error is the last. */
export function readableFields({ err, ...fields }: Fields): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) =>
        ` ${printable(name)}=${isErrorLike(value) ? readableError(value) : readableValue(value)}`,
    )
  return parts.join('') + (err === undefined ? '' : ` err=${readableError(err)}`)
}

export function readableValue(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return printable(value)
  return printable(inJson(value))
}

/** JSON, or the type of a value that has none. */
export function inJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value
  } catch {
    // A cycle, a BigInt, or a getter that throws.
    return `[${typeof value}]`
  }
}

/** The error and its causes, and the place where the error was thrown. Only JSON lines have the whole stack. */
function readableError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return readableValue(error)
  const { type, name = type, message, stack, cause } = error as Fields
  const place = /\n {4}at (.+)/.exec(readableText(stack))?.[1]
  const what = `${name === undefined ? '' : `${readableText(name)}: `}${readableText(message)}${place ? ` at ${place}` : ''}`
  return readableValue(what) + (cause === undefined ? '' : ` cause=${readableError(cause)}`)
}

/** The text itself, or JSON of any other value. */
export function readableText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
