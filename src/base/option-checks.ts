import { OptionError } from './errors.js'
import { hintForWord } from './service-words.js'
import { similarName } from './similar-name.js'

/** Where an option is given, for the message: `createReceiver`, `new MemoryIdempotencyStore`. */
type Owner = string

/** A place within an option, such as `subscriptions[0]` within `subscriptions`. */
export interface OptionPart {
  readonly option: string
  readonly part: string
}

type OptionName = string | OptionPart

/**
 * Refuses unknown options: a misspelled option that is silently ignored may be one that sets a limit. `within` is
 * the option whose value `options` is.
 */
export function checkKnownOptions(
  owner: Owner,
  options: unknown,
  known: readonly string[],
  within?: OptionPart,
): void {
  if (!isRecord(options)) {
    const name = within ? partOf(within, 'options') : 'options'
    const cure = `pass one object with named options: ${known.join(', ')}`
    throw invalidOption(owner, name, options, cure, kindOf(options))
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const hint = hintForWord(name, known) ?? guess(name, known)
    const problem = `has no option ${JSON.stringify(name)}. Its options are ${known.join(', ')}.${hint && ` ${hint}`}`
    const messageFor = (where: Owner) => `${where}${within ? `: ${within.part}` : ''} ${problem}`
    throw new OptionError('ERR_OPTION_UNKNOWN', owner, within?.option ?? name, messageFor)
  }
}

function guess(name: string, known: readonly string[]): string {
  const meant = similarName(name, known)
  return meant === undefined ? '' : `Did you mean ${JSON.stringify(meant)}?`
}

/** Whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field within a part of an option: `subscriptions[0]: callbackUrl`. */
export function partOf({ option, part }: OptionPart, name: string): OptionPart {
  return { option, part: `${part}: ${name}` }
}

/** A whole number within its range; the default if it is undefined. */
export function integerOption(
  owner: Owner,
  name: OptionName,
  value: number | undefined,
  { fallback, min, max = Number.MAX_SAFE_INTEGER }: { fallback: number; min: number; max?: number },
): number {
  const number = value ?? fallback
  if (Number.isSafeInteger(number) && number >= min && number <= max) return number
  throw invalidOption(owner, name, value, `use a whole number from ${min} to ${max}`)
}

/** Milliseconds for a timer. Node fires a timer of more than 2 ** 31 - 1 ms immediately. */
export function durationOption(
  owner: Owner,
  name: OptionName,
  value: number | undefined,
  fallback: number,
): number {
  return integerOption(owner, name, value, { fallback, min: 1, max: 2 ** 31 - 1 })
}

export function functionOption<Type>(owner: Owner, name: OptionName, value: Type): Type {
  if (typeof value === 'function') return value
  throw invalidOption(owner, name, value, 'pass a function')
}

/**
 * A function that returns milliseconds. It is called once: a clock that returns a Date or a promise would refuse every
 * callback. NaN and an exception are not refused here, because they may be temporary.
 */
export function clockOption(
  owner: Owner,
  value: (() => number) | undefined,
  fallback: () => number,
): () => number {
  const clock = functionOption(owner, 'clock', value ?? fallback)
  const returned = valueOf(clock)
  if (typeof returned === 'number') return clock
  const cure = 'return a number of milliseconds, as Date.now does'
  throw invalidOption(owner, 'clock', undefined, cure, `a function whose result is ${kindOf(returned)}`)
}

function valueOf(clock: () => unknown): unknown {
  try {
    return clock()
  } catch {
    return NaN
  }
}

/** An object with the methods that will be called: a logger, a store. */
export function objectOption<Type extends object>(
  owner: Owner,
  name: string,
  value: Type,
  methods: readonly string[],
): Type {
  const given: unknown = value
  const missing = methods.filter(
    (method) => typeof (given as Record<string, unknown> | null | undefined)?.[method] !== 'function',
  )
  if (missing.length === 0) return value
  const wanted = `pass an object with the ${methods.length > 1 ? 'methods' : 'method'} ${methods.join(', ')}`
  const lacks = typeof given === 'object' && given !== null ? `; it lacks ${missing.join(', ')}` : ''
  throw invalidOption(owner, name, value, `${wanted}${lacks}`)
}

export function invalidOption(
  owner: Owner,
  name: OptionName,
  value: unknown,
  cure: string,
  shown = describe(value),
): OptionError<'ERR_OPTION_INVALID'> {
  const { option, part } = typeof name === 'string' ? { option: name, part: name } : name
  return wrongOption(owner, option, `${part} is ${shown}: ${cure}.`)
}

/** For a problem whose text names the option. */
export function wrongOption(
  owner: Owner,
  option: string,
  problem: string,
): OptionError<'ERR_OPTION_INVALID'> {
  return new OptionError('ERR_OPTION_INVALID', owner, option, (where) => `${where}: ${problem}`)
}

/** @throws CountersignError ERR_OPTION_INVALID if there is a problem */
export function refuseOption(owner: Owner, option: string, problem: string | undefined): void {
  if (problem !== undefined) throw wrongOption(owner, option, problem)
}

/**
 * A value as it is shown in messages. An object is not shown, because it may hold a secret. A string is shown only if it
 * is short enough for a word or a number and is not a URL with a user, because it may be a misplaced secret or have a
 * password in it. Options for secrets and URLs have stricter rules of their own.
 */
function describe(value: unknown): string {
  if (value === null || ['number', 'boolean', 'undefined'].includes(typeof value)) return String(value)
  if (typeof value !== 'string') return kindOf(value)
  if (value.length > 24 || /:\/\/.*@/.test(value)) return `a text of ${value.length} characters`
  return JSON.stringify(value)
}

/** For options that take subscriptions: a string there may be a secret, or JSON that contains one. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`
}
