/** A controller that is also aborted with `signal`, until it is released. */
interface LinkedController {
  readonly controller: AbortController
  readonly release: () => void
}

/**
 * Not `AbortSignal.any`: on older supported versions of Node its result is kept in memory as long as the source
 * signal, and an application may pass one signal to every call.
 */
export function linkedController(signal: AbortSignal | undefined): LinkedController {
  const controller = new AbortController()
  const follow = () => controller.abort(signal?.reason)
  if (signal?.aborted) follow()
  else signal?.addEventListener('abort', follow)
  return { controller, release: () => signal?.removeEventListener('abort', follow) }
}

/** Rejects with the signal's reason once it is aborted, also if the promise itself does not depend on the signal. */
export function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    const stop = () => signal.removeEventListener('abort', abort)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
    promise.then(
      (value) => {
        stop()
        resolve(value)
      },
      (error: unknown) => {
        stop()
        reject(error)
      },
    )
  })
}
