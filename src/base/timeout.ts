import { SYSTEM, type Environment } from './environment.js'

interface TimerOptions {
  /** Whether the timer keeps the process alive. */
  readonly keepsAlive?: boolean
  readonly environment?: Environment
}

/**
 * Calls `begin` after the current tick of the event loop. The returned function cancels that; when `begin` has already run,
 * it calls the function that `begin` returned. Most work in memory ends within the tick, and setting and clearing a timer
 * costs more than an immediate.
 */
export function afterCurrentTick(begin: () => () => void, environment: Environment = SYSTEM): () => void {
  let end: (() => void) | undefined
  const immediate = environment.setImmediate(() => {
    end = begin()
  })
  return () => {
    environment.clearImmediate(immediate)
    end?.()
  }
}

/** Calls `onLate` after `limitMs`, unless the function that it returns is called before. */
export function deadline(limitMs: number, onLate: () => void, options: TimerOptions = {}): () => void {
  return afterCurrentTick(() => timer(limitMs, onLate, options), options.environment)
}

/** Like `deadline()`, but the timer is set immediately. */
export function timer(
  limitMs: number,
  onLate: () => void,
  { keepsAlive = true, environment = SYSTEM }: TimerOptions = {},
): () => void {
  let immediate: unknown
  const timeout = environment.setTimeout(() => {
    // After the event loop was blocked, timers run before sockets are read. The immediate runs after that read, so that
    // bytes that arrived within the limit still count.
    immediate = environment.setImmediate(onLate)
  }, limitMs)
  if (!keepsAlive) timeout.unref()
  return () => {
    environment.clearTimeout(timeout)
    environment.clearImmediate(immediate)
  }
}

/**
 * Rejects when `promise` takes longer than `limitMs`, so that a dependency that hangs does not hang the sender. The timer
 * does not keep the process alive, unless `keepsAlive` is true because a caller waits for the result.
 */
export function withTimeout<Value>(
  promise: Promise<Value>,
  limitMs: number,
  what: string,
  { keepsAlive = false, environment = SYSTEM }: TimerOptions = {},
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onLate = () => reject(new Error(`${what} took longer than ${Math.round(limitMs)} ms`))
    const cancel = deadline(limitMs, onLate, { keepsAlive, environment })
    promise.then(
      (value) => {
        cancel()
        resolve(value)
      },
      (error: unknown) => {
        cancel()
        reject(error)
      },
    )
  })
}

/** Resolves once the promise is settled, or after `limitMs`. */
export async function settledWithin(
  promise: Promise<unknown> | undefined,
  limitMs: number,
  environment: Environment = SYSTEM,
): Promise<void> {
  const options = { keepsAlive: true, environment }
  if (promise) await withTimeout(promise, limitMs, 'the caller', options).catch(() => undefined)
}
