import { isErrorLike, isInstance, property, textProperty } from '../base/foreign-value.js'
import type { KnownSecrets } from './known-secrets.js'

/**
 * The length at which a message and a stack are truncated, in characters. An HTTP client may put a whole response into
 * one.
 */
const MAX_LENGTH = 4_096
const MAX_CAUSE_LENGTH = 2_048
const MAX_CAUSES = 3
const MAX_NAME_LENGTH = 100
const BUILT_IN = new Set([
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
])

/**
 * A copy of a thrown value that can be logged: name, message, code, stack and causes, each truncated, without the known
 * secrets. The other properties of the error are omitted: errors of HTTP clients have whole requests with the
 * Authorization header, and some loggers print every property. The copy is an Error, so that loggers recognise it.
 */
export function loggedError(error: unknown, secrets: KnownSecrets): Error {
  return isInstance(error, LoggedError) ? error : copy(error, secrets, 0)
}

/** A copy is not truncated again, because the note about the truncation makes it longer than the limit. */
class LoggedError extends Error {
  /** For loggers that write JSON and have no serializer for errors. */
  toJSON(): object {
    const { name, message, stack, cause } = this
    return { name, message, ...('code' in this && { code: this.code }), stack, cause }
  }
}

/** Name and message, of at most `limit` characters, for the record of an entry. A text that was cut ends with `…`. */
export function errorText(error: unknown, secrets: KnownSecrets, limit: number): string {
  const message = textProperty(error, 'message')
  if (!isErrorLike(error)) return 'a handler threw something that is not an Error'
  if (message === undefined) return 'a handler threw an Error that cannot be read'
  const text = `${nameOf(error)}: ${message}`
  const shown = secrets.hide(text, limit)
  return Math.max(text.length, shown.length) > limit ? `${shown.slice(0, limit - 1)}…` : shown
}

function copy(error: unknown, secrets: KnownSecrets, depth: number): Error {
  const limit = depth === 0 ? MAX_LENGTH : MAX_CAUSE_LENGTH
  const name = secrets.hide(nameOf(error), MAX_NAME_LENGTH)
  const message = messageOf(error)
  const shown = shortened(message, secrets, limit)
  const cause = property(error, 'cause')
  const below = cause !== undefined && cause !== null && depth < MAX_CAUSES
  const safe = emptyError(name, shown, below ? { cause: copy(cause, secrets, depth + 1) } : undefined)

  const frames = framesOf(textProperty(error, 'stack') ?? '', message)
  const stack = `${name}: ${shown}${shortened(frames, secrets, limit)}`
  Object.defineProperty(safe, 'stack', { value: stack, configurable: true, writable: true })
  const code = textProperty(error, 'code')
  return code === undefined ? safe : Object.assign(safe, { code: secrets.hide(code, MAX_NAME_LENGTH) })
}

/** Loggers print the name of an error's class. Therefore the copy has a class with the same name. */
function emptyError(name: string, message: string, options: ErrorOptions | undefined): Error {
  const { [name]: Named } = { [name]: class extends LoggedError {} }
  const error = new Named!(message, options)
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  return error
}

/** If a subclass does not set `name`, the name of the class. */
function nameOf(error: unknown): string {
  const name = textProperty(error, 'name') || 'Error'
  if (!BUILT_IN.has(name) || !isErrorLike(error)) return name
  return textProperty(property(error, 'constructor'), 'name') || name
}

function messageOf(error: unknown): string {
  if (!isErrorLike(error)) return `a thrown ${error === null ? 'null' : typeof error}`
  return textProperty(error, 'message') ?? 'a thrown error that cannot be read'
}

/** The stack without the message at its beginning, which may be so long that the frames would be truncated. */
function framesOf(stack: string, message: string): string {
  const firstFrame = '\n    at '
  if (message === '') return stack.slice(Math.max(0, stack.indexOf(firstFrame)))
  const heading = stack.slice(0, 3 * MAX_NAME_LENGTH).indexOf(message.slice(0, MAX_NAME_LENGTH))
  const frames =
    heading >= 0 && stack.startsWith(message, heading) ? stack.slice(heading + message.length) : stack
  return frames === '' || frames.startsWith('\n') ? frames : `\n${frames}`
}

function shortened(text: string, secrets: KnownSecrets, limit: number): string {
  const shown = secrets.hide(text, limit)
  return text.length > limit ? `${shown}… (cut: it has ${text.length} characters)` : shown
}
