import { types } from 'node:util'
import { CountersignError } from './errors.js'
import { kindOf } from './option-checks.js'

/**
 * Checks a handler, a listener or a hook. The body of a generator function does not run when it is called: every event would count as
 * handled.
 * @throws CountersignError ERR_HANDLER_INVALID
 */
export function checkIsFunction(what: string, value: unknown): void {
  const isGenerator = types.isGeneratorFunction(value)
  if (typeof value === 'function' && !isGenerator) return
  const problem = isGenerator ? 'a generator function: pass an ordinary' : `${kindOf(value)}: pass a`
  throw new CountersignError('ERR_HANDLER_INVALID', `${what} is ${problem} function.`)
}
