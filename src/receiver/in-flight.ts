/** Counts callbacks that are being processed, so that a stop can wait for them. */
export class InFlight {
  #count = 0
  #waiting: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  end(): void {
    if (--this.#count > 0) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Resolves once the count is zero. */
  async ended(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
