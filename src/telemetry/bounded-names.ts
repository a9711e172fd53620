/**
 * Limits the number of values of a label. Each value of a label is a series that Prometheus keeps for months, and a `subscriptions`
 * function may return any number of event types.
 */
export class BoundedNames {
  readonly #names = new Set<string>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** The name; `other` once there are too many. */
  of(name: string): string {
    if (this.#names.has(name)) return name
    if (this.#names.size >= this.#max) return 'other'
    this.#names.add(name)
    return name
  }
}
