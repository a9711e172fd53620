import { isPending, type MaybePending } from '../base/pending.js'

/** Counts callbacks that are being processed, so that a stop can wait for them. */
export class InFlight {
  #count = 0
  #waiting: (() => void)[] = []

  /** Counts a piece of work until it has ended. */
  during<Value>(work: () => MaybePending<Value>): MaybePending<Value> {
    this.#count++
    let isRunning = false
    try {
      const result = work()
      isRunning = isPending(result)
      return isPending(result) ? this.#untilEnded(result) : result
    } finally {
      if (!isRunning) this.#end()
    }
  }

  /** Resolves once the count is zero. */
  async ended(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  // `finally` makes two more promises for each callback.
  #untilEnded<Value>(work: Promise<Value>): Promise<Value> {
    return work.then(
      (value) => {
        this.#end()
        return value
      },
      (error: unknown) => {
        this.#end()
        throw error
      },
    )
  }

  #end(): void {
    if (--this.#count > 0) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
