// Not the globals, which some test environments lack.
import { clearImmediate, setImmediate } from 'node:timers'

/**
 * What receivers, workers and inboxes take from the process that they run in, so that the simulation can run several of them in one
 * process, each with clocks of its own.
 */
export interface Environment {
  /** The time of day, in milliseconds since 1970. */
  now(): number
  /** Milliseconds by a clock that is never set. */
  monotonic(): number
  setTimeout(run: () => void, ms: number): Timer
  clearTimeout(timer: Timer | undefined): void
  setImmediate(run: () => void): unknown
  clearImmediate(immediate: unknown): void
  /** From 0 to below 1. */
  random(): number
}

export interface Timer {
  unref(): unknown
}

/** The process itself. Its clocks and timers are looked up at each call, because tests replace them. */
export const SYSTEM: Environment = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  setImmediate,
  clearImmediate: (immediate) => clearImmediate(immediate as NodeJS.Immediate | undefined),
  random: () => Math.random(),
}

/** The option by which the simulation passes an environment. It is not a part of the public interface. */
export const ENVIRONMENT: unique symbol = Symbol.for('countersign.environment')

export function environmentOf(options: object): Environment {
  return (options as { readonly [ENVIRONMENT]?: Environment })[ENVIRONMENT] ?? SYSTEM
}

/** Calls `run` again and again, after `ms` each. Returns what ends that. */
export function every(
  { setTimeout, clearTimeout }: Environment,
  ms: number,
  run: () => void,
  { keepsAlive = true } = {},
): () => void {
  let timer: Timer
  const begin = () => {
    timer = setTimeout(() => {
      begin()
      run()
    }, ms)
    if (!keepsAlive) timer.unref()
  }
  begin()
  return () => clearTimeout(timer)
}

/** Resolves after `ms`. */
export function delay({ setTimeout }: Environment, ms: number, { keepsAlive = true } = {}): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    if (!keepsAlive) timer.unref()
  })
}
