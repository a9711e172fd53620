interface Deferred<Value> {
  readonly promise: Promise<Value>
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}

/** A promise that the test settles. */
export function deferred<Value = void>(): Deferred<Value> {
  let resolve!: (value: Value) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<Value>((whenResolved, whenRejected) => {
    resolve = whenResolved
    reject = whenRejected
  })
  return { promise, resolve, reject }
}
