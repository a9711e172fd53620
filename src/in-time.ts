// Not the globals, which some test environments lack.
import { clearImmediate, setImmediate } from 'node:timers'

/**
 * Calls `onLate` after `limitMs`, unless the function that it returns is called before. What ends within the turn of the
 * event loop in which it began, as most of what is in memory does, sets no timer: to set and clear one takes longer.
 */
export function deadline(limitMs: number, onLate: () => void, { keepsAlive = true } = {}): () => void {
  let timer: NodeJS.Timeout | undefined
  let immediate = setImmediate(() => {
    timer = setTimeout(() => {
      // Once the event loop was blocked, timers run before what came in time is read: one more look.
      immediate = setImmediate(onLate)
    }, limitMs)
    if (!keepsAlive) timer.unref()
  })
  return () => {
    clearImmediate(immediate)
    clearTimeout(timer)
  }
}

/**
 * Rejects when `promise` takes too long: a dependency that hangs must not hang the sender. Nor must it keep alive a process
 * that has given up on it, unless `keepsAlive` says that somebody waits for this.
 */
export function inTime<Value>(
  promise: Promise<Value>,
  limitMs: number,
  what: string,
  { keepsAlive = false } = {},
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onLate = () => reject(new Error(`${what} took longer than ${limitMs} ms`))
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
