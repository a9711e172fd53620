import { context, trace, type Context } from '@opentelemetry/api'
import { isPending, started, type MaybePending } from '../../base/pending.js'
import type { VerifiedCallback } from '../../callback/callback.js'

export class StepContexts {
  /**
   * Only needed where no context manager is registered: there `context.active()` is always empty. The old tables of a Map keep
   * callbacks in memory until a major garbage collection. To have all callbacks in it took 3 µs for each of them.
   */
  readonly #unmanaged = new Map<VerifiedCallback, Context>()

  /**
   * Runs a step of a callback in a context, and calls `onResult` or `onError` when it has ended. What these throw, such as an exception
   * of a span processor, is thrown or rejects the returned promise.
   */
  run<Result>(
    callback: VerifiedCallback,
    within: Context,
    step: () => MaybePending<Result>,
    onResult: (result: Result) => void,
    onError: (error: unknown) => void,
  ): MaybePending<void> {
    const running = started(() =>
      context.with(within, () => {
        if (context.active() !== within) this.#unmanaged.set(callback, within)
        return step()
      }),
    )
    const end = <Value>(then: (value: Value) => void, value: Value) => {
      this.#unmanaged.delete(callback)
      then(value)
    }
    if (!isPending(running)) return end(onResult, running)
    return running.then(
      (result) => end(onResult, result),
      (error: unknown) => end(onError, error),
    )
  }

  /** The context in which the current step of a callback runs. */
  of(callback: VerifiedCallback): Context {
    const active = context.active()
    return trace.getSpan(active) ? active : (this.#unmanaged.get(callback) ?? active)
  }
}
