import { isNativeError } from 'node:util/types'

/**
 * A property of a value from outside, such as an error that a handler threw; undefined if it cannot be read. A
 * revoked Proxy throws at every access, also for `instanceof`, and a getter may throw. In a callback that nothing
 * awaits, such an exception would end the process.
 */
export function property(value: unknown, name: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return Reflect.get(value, name)
  } catch {
    return undefined
  }
}

/** The same if a string is expected; undefined if it is something else. */
export function textProperty(value: unknown, name: string): string | undefined {
  const text = property(value, name)
  return typeof text === 'string' ? text : undefined
}

/** `instanceof` for a value from outside; false if it throws. */
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
 * Whether a value has the properties of an error. Not `instanceof`: it throws for a revoked Proxy and is false for
 * errors of another realm, such as a test runner.
 */
export function isErrorLike(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return isNativeError(value) || textProperty(value, 'message') !== undefined
}
