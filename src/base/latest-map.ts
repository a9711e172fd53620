/** A map of at most `maxSize` entries, those that were set last. The entry that was set last is the last. */
export class LatestMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number

  constructor(maxSize: number) {
    super()
    this.#maxSize = maxSize
  }

  override set(key: Key, value: Value): this {
    // Without this, an entry that is set again would keep its place.
    this.delete(key)
    super.set(key, value)
    if (this.size > this.#maxSize) this.delete(this.keys().next().value!)
    return this
  }
}
