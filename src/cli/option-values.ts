import { validateHeaderValue } from 'node:http'
import { InvalidArgumentError } from 'commander'
import { eventTypeNameProblem } from '../base/event-type-name.js'
import { parseUrl } from '../base/parse-url.js'
import { isUuid } from '../base/uuid.js'
import { printable } from '../base/printable.js'

// The parsers that commander calls with the text after an option.

export function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Use a whole number.')
}

export function positiveNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Use a whole number, from 1.')
}

/** The parser of a number that may not exceed the limit. */
export function upTo(
  max: number,
  parse: (text: string) => number = positiveNumber,
): (text: string) => number {
  return (text) => {
    const value = parse(text)
    if (value <= max) return value
    throw new InvalidArgumentError(`Use at most ${max}.`)
  }
}

/** Each inbox makes its own ids, so that any text may be one. */
export function entryId(text: string): string {
  if (/^[\x21-\x7e]{1,100}$/.test(text)) return text
  throw new InvalidArgumentError('Use the id of an entry, as `countersign inbox list` prints it.')
}

/** Milliseconds for a timer. Node fires a timer of more than 2 ** 31 - 1 ms immediately. */
export function duration(text: string): number {
  const value = positiveNumber(text)
  if (value < 2 ** 31) return value
  throw new InvalidArgumentError(`Use at most ${2 ** 31 - 1} milliseconds.`)
}

export function headerValue(text: string): string {
  try {
    validateHeaderValue('value', text)
    // Node accepts tabs and C1 control characters. The terminal would then show another text than was signed.
    if (printable(text) === text) return text
  } catch {
    // The message is the same.
  }
  throw new InvalidArgumentError('It must fit in a header: no line ends or other control characters.')
}

export function eventTypeName(text: string): string {
  const problem = eventTypeNameProblem(text)
  if (problem === undefined) return text
  throw new InvalidArgumentError(`${problem}.`)
}

export function eventTypeHeader(text: string): string {
  return eventTypeName(headerValue(text))
}

export function someText(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('It must not be empty.')
}

export function uuid(text: string): string {
  if (isUuid(text)) return text
  throw new InvalidArgumentError('Use a UUID.')
}

export function httpUrl(text: string): URL {
  const url = parseUrl(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new InvalidArgumentError('Use an absolute http or https URL.')
}

/** Milliseconds for timers, separated by commas. */
export function durations(text: string): number[] {
  return text.split(',').map((each) => duration(each.trim()))
}

/** Statuses, separated by commas. */
export function statuses(text: string): number[] {
  const list = text.split(',').map((status) => status.trim())
  if (list.every((status) => /^[1-5]\d\d$/.test(status))) return list.map(Number)
  throw new InvalidArgumentError('Use statuses separated by commas, such as 200,409.')
}
