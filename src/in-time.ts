/** Rejects when `promise` takes too long: a dependency that hangs must not hang the sender. */
export function inTime<Value>(promise: Promise<Value>, limitMs: number, what: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} took longer than ${limitMs} ms`)), limitMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
