/**
 * Calls `onLate` after `limitMs`, unless the function that it returns is called before. What ends within the turn of the
 * event loop in which it began, as most of what is in memory does, sets no timer: to set and clear one takes longer.
 */
export function deadline(limitMs: number, onLate: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const immediate = setImmediate(() => (timer = setTimeout(onLate, limitMs)))
  return () => {
    clearImmediate(immediate)
    clearTimeout(timer)
  }
}

/** Rejects when `promise` takes too long: a dependency that hangs must not hang the sender. */
export function inTime<Value>(promise: Promise<Value>, limitMs: number, what: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = deadline(limitMs, () => reject(new Error(`${what} took longer than ${limitMs} ms`)))
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
