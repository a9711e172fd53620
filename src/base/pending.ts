/** A result, or a promise of it if there is something to wait for. Most work in memory has its result immediately. */
export type MaybePending<Value> = Value | Promise<Value>

/**
 * Whether a result has to be waited for. By its `then`, because promises of other realms and libraries are not instances of `Promise`.
 * Throws if `then` of a value from outside is a getter that throws.
 */
export function isPending<Value>(result: MaybePending<Value>): result is Promise<Value> {
  return typeof (result as { then?: unknown } | null | undefined)?.then === 'function'
}

/**
 * Continues with a result: immediately, or when its promise is fulfilled. An `await` would suspend the caller also when there is
 * nothing to wait for; each async function of a callback keeps about 1 KB until its end.
 */
export function whenDone<Value, Next>(
  result: MaybePending<Value>,
  next: (value: Value) => MaybePending<Next>,
): MaybePending<Next> {
  return isPending(result) ? result.then(next) : next(result)
}

/** Starts a piece of work. What it throws becomes a rejection. */
export function started<Value>(work: () => MaybePending<Value>): MaybePending<Value> {
  try {
    return work()
  } catch (error) {
    return Promise.reject(error)
  }
}
