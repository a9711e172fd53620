/** Rejects when `promise` takes too long: a dependency that hangs must not hang the sender. */
export function inTime<Value>(promise: Promise<Value>, limitMs: number, what: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    let isSettled = false
    const settle = () => {
      isSettled = true
      clearTimeout(timer)
    }
    promise.then(
      (value) => (settle(), resolve(value)),
      (error: unknown) => (settle(), reject(error as Error)),
    )
    // What is in memory answers at once, and to set a timer and clear it again takes longer than that.
    void SETTLED.then(() => {
      if (isSettled) return
      timer = setTimeout(() => reject(new Error(`${what} took longer than ${limitMs} ms`)), limitMs)
    })
  })
}

const SETTLED = Promise.resolve()
