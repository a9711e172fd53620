import { isNativeError } from 'node:util/types'

/**
 * A property of a value that came from outside, such as an error that a handler threw; undefined where it cannot be read.
 * A revoked Proxy throws at every access, `instanceof` included, and a getter may throw as well. Such an exception in a
 * callback that nobody awaits would end the process.
 */
export function property(value: unknown, name: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return Reflect.get(value, name)
  } catch {
    return undefined
  }
}

/** The same where a string is expected; undefined where it is something else. */
export function textProperty(value: unknown, name: string): string | undefined {
  const text = property(value, name)
  return typeof text === 'string' ? text : undefined
}

/** `instanceof` for such a value; false where it throws. */
export function isInstance<Type>(
  value: unknown,
  type: abstract new (...given: never[]) => Type,
): value is Type {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

/**
 * Whether a value has what an error has. Not by `instanceof`, which throws for a revoked Proxy and is false for errors of
 * another realm, such as a test runner's.
 */
export function isErrorLike(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return isNativeError(value) || textProperty(value, 'message') !== undefined
}
