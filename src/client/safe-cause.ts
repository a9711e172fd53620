import { property } from '../base/foreign-value.js'
import { textMask } from '../base/mask-texts.js'

const MAX_DEPTH = 3

/**
 * A copy of an error without confidential data: only name, code, message and stack, with the hidden texts removed,
 * and its causes likewise. HTTP clients attach sockets, requests and response bytes to their errors, and the fetch
 * of an application may attach anything.
 */
export function safeCause(error: unknown, hidden: readonly string[]): Error {
  return masked(error, textMask(hidden), 1)
}

function masked(error: unknown, redact: (text: string) => string, depth: number): Error {
  const { name, message, code, stack, cause } = fieldsOf(error)
  const below =
    cause !== undefined && cause !== null && depth < MAX_DEPTH
      ? { cause: masked(cause, redact, depth + 1) }
      : undefined
  const safe = new Error(typeof message === 'string' ? redact(message) : `a thrown ${typeof error}`, below)
  if (typeof name === 'string') safe.name = redact(name)
  if (typeof stack === 'string') safe.stack = redact(stack)
  if (typeof code === 'string') Object.assign(safe, { code: redact(code) })
  return safe
}

/** The code of the deepest cause that has one, such as ECONNREFUSED; otherwise its message. */
export function briefly(error: Error): string {
  const { code, message, cause } = fieldsOf(error)
  const below = cause === undefined ? undefined : briefly(cause as Error)
  if (below !== undefined && below !== '') return below
  // The code of undici if a proxy refuses a tunnel. Only the message has the status.
  return String(code === 'UND_ERR_ABORTED' ? message : (code ?? message))
}

interface ErrorFields {
  readonly name?: unknown
  readonly message?: unknown
  readonly code?: unknown
  readonly stack?: unknown
  readonly cause?: unknown
}

// Not `instanceof`: it is false for an error of another realm, such as a test runner.
function fieldsOf(error: unknown): ErrorFields {
  const [name, message, code, stack, cause] = ['name', 'message', 'code', 'stack', 'cause'].map((field) =>
    property(error, field),
  )
  return { name, message, code, stack, cause }
}
