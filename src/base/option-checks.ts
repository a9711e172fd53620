import { CountersignError } from './errors.js'
import { similarName } from './similar-name.js'

/** Where an option belongs, for the message: `createReceiver`, `new MemoryIdempotencyStore`, ... */
type Owner = string

/** Misspelled options are refused: one that is silently ignored may be the one that bounds something. */
export function checkKnownOptions(owner: Owner, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidOption(owner, 'options', options, 'pass one object with named options', kindOf(options))
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const meant = similarName(name, known)
    const guess = meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`
    const message = `${owner} has no option ${JSON.stringify(name)}. Its options are ${known.join(', ')}.${guess}`
    throw new CountersignError('ERR_OPTION_UNKNOWN', message)
  }
}

/** A whole number within its range; the default when undefined. */
export function integerOption(
  owner: Owner,
  name: string,
  value: number | undefined,
  { fallback, min, max = Number.MAX_SAFE_INTEGER }: { fallback: number; min: number; max?: number },
): number {
  const number = value ?? fallback
  if (Number.isSafeInteger(number) && number >= min && number <= max) return number
  throw invalidOption(owner, name, value, `use a whole number from ${min} to ${max}`)
}

/** Milliseconds for a timer. Node fires a longer one at once. */
export function durationOption(
  owner: Owner,
  name: string,
  value: number | undefined,
  fallback: number,
): number {
  return integerOption(owner, name, value, { fallback, min: 1, max: 2 ** 31 - 1 })
}

export function functionOption<Type>(
  owner: Owner,
  name: string,
  value: Type | undefined,
  fallback: Type,
): Type {
  const chosen = value ?? fallback
  if (typeof chosen === 'function') return chosen
  throw invalidOption(owner, name, value, 'pass a function')
}

/** An object with the methods that will be called: a logger, a store. */
export function objectOption<Type extends object>(
  owner: Owner,
  name: string,
  value: Type | undefined,
  fallback: Type,
  methods: readonly string[],
): Type {
  const chosen: unknown = value ?? fallback
  const missing = methods.filter(
    (method) => typeof (chosen as Record<string, unknown> | null)?.[method] !== 'function',
  )
  if (missing.length === 0) return chosen as Type
  throw invalidOption(owner, name, value, `pass an object with the methods ${methods.join(', ')}`)
}

export function invalidOption(
  owner: Owner,
  name: string,
  value: unknown,
  cure: string,
  shown = describe(value),
): CountersignError<'ERR_OPTION_INVALID'> {
  return new CountersignError('ERR_OPTION_INVALID', `${owner}: ${name} is ${shown}: ${cure}.`)
}

/**
 * A value as messages repeat it. An object is not, as it may hold a secret. A text is repeated only where it is short enough
 * for a word or a number, as a long one may be a secret or a URL in the wrong place. Options that take one of these have
 * stricter rules of their own.
 */
function describe(value: unknown): string {
  if (value === null || ['number', 'boolean', 'undefined'].includes(typeof value)) return String(value)
  if (typeof value !== 'string') return kindOf(value)
  if (value.length > 24) return `a text of ${value.length} characters`
  return JSON.stringify(value)
}

/** For where subscriptions are expected: a text there may be a secret, or JSON that holds one. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`
}
