import { setImmediate } from 'node:timers/promises'
import { SYSTEM, type Environment } from './environment.js'

/** Resolves in the next turn of the event loop, also if a test replaces the timers of Node by fake ones later. */
export function nextTick(environment: Environment = SYSTEM): Promise<void> {
  if (environment === SYSTEM) return setImmediate()
  return new Promise((resolve) => environment.setImmediate(resolve))
}
