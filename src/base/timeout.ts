// Not the globals, which some test environments lack.
import { clearImmediate, setImmediate } from 'node:timers'

/**
 * Calls `begin` after the current tick of the event loop. The returned function cancels that; when `begin` has already run,
 * it calls the function that `begin` returned. Most work in memory ends within the tick, and setting and clearing a timer
 * costs more than an immediate.
 */
export function afterCurrentTick(begin: () => () => void): () => void {
  let end: (() => void) | undefined
  const immediate = setImmediate(() => (end = begin()))
  return () => {
    clearImmediate(immediate)
    end?.()
  }
}

/** Calls `onLate` after `limitMs`, unless the function that it returns is called before. */
export function deadline(limitMs: number, onLate: () => void, { keepsAlive = true } = {}): () => void {
  return afterCurrentTick(() => timer(limitMs, onLate, { keepsAlive }))
}

/** Like `deadline()`, but the timer is set immediately. */
export function timer(limitMs: number, onLate: () => void, { keepsAlive = true } = {}): () => void {
  let immediate: NodeJS.Immediate | undefined
  const timeout = setTimeout(() => {
    // After the event loop was blocked, timers run before sockets are read. The immediate runs after that read, so that
    // bytes that arrived within the limit still count.
    immediate = setImmediate(onLate)
  }, limitMs)
  if (!keepsAlive) timeout.unref()
  return () => {
    clearTimeout(timeout)
    clearImmediate(immediate)
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
  { keepsAlive = false } = {},
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onLate = () => reject(new Error(`${what} took longer than ${Math.round(limitMs)} ms`))
    const cancel = deadline(limitMs, onLate, { keepsAlive })
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
export async function settledWithin(promise: Promise<unknown> | undefined, limitMs: number): Promise<void> {
  if (promise) await withTimeout(promise, limitMs, 'the caller', { keepsAlive: true }).catch(() => undefined)
}
