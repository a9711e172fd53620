// Not the globals, which some test environments lack.
import { clearImmediate, setImmediate } from 'node:timers'

/**
 * Calls `begin`, unless the function that it returns is called within the same turn of the event loop, as for most of what
 * is in memory; when it is called later, it calls what `begin` returned. To set a timer and clear it takes longer.
 */
export function unlessSoonOver(begin: () => () => void): () => void {
  let end: (() => void) | undefined
  const immediate = setImmediate(() => (end = begin()))
  return () => {
    clearImmediate(immediate)
    end?.()
  }
}

/** Calls `onLate` after `limitMs`, unless the function that it returns is called before. */
export function deadline(limitMs: number, onLate: () => void, { keepsAlive = true } = {}): () => void {
  return unlessSoonOver(() => timer(limitMs, onLate, { keepsAlive }))
}

/** A deadline whose timer is set at once. */
export function timer(limitMs: number, onLate: () => void, { keepsAlive = true } = {}): () => void {
  let immediate: NodeJS.Immediate | undefined
  const timeout = setTimeout(() => {
    // Once the event loop was blocked, timers run before what came in time is read: one more look.
    immediate = setImmediate(onLate)
  }, limitMs)
  if (!keepsAlive) timeout.unref()
  return () => {
    clearTimeout(timeout)
    clearImmediate(immediate)
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
